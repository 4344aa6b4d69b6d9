"""A reference -> an agent: a folder, a `.py` file, or `package.module:attribute`.

A package is imported under its own name from its parent folder, so that its relative imports
work; another package of that name that was imported from elsewhere steps aside.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from agent_eval.agents.base import Agent
from agent_eval.agents.python import PythonAgent, PythonCallable
from agent_eval.errors import AgentError, Problem, did_you_mean

ATTRIBUTES = ("root_agent", "agent", "get_agent_async")


def resolve_agent(reference: str) -> Agent:
    """The agent behind a reference.

    Raises:
        AgentError: there is none, its code cannot be imported, or it is of no known kind.
    """
    path = Path(reference)
    if path.exists():
        _load_dotenv(path)
        module = _import_file(path)
        name = path.stem if path.is_file() else path.resolve().name
        return _agent_of(module, None, name, reference)
    module_name, _, attribute = reference.partition(":")
    is_name = all(part.isidentifier() for part in module_name.split("."))
    if not is_name or reference.endswith(".py"):
        known = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        raise AgentError(
            Problem(
                f"there is no agent `{reference}`",
                hint=did_you_mean(path.name, known)
                or "name an agent's folder, its .py file, or `package.module:attribute`",
            )
        )
    module = _import(module_name, reference)
    if module.__file__:
        _load_dotenv(Path(module.__file__))
    return _agent_of(module, attribute or None, attribute or module_name.rpartition(".")[2], reference)


def _load_dotenv(path: Path) -> None:
    """Loads the `.env` nearest to the agent, upwards from it. The environment is not overridden."""
    for folder in (path.resolve(), *path.resolve().parents):
        if (folder / ".env").is_file():
            from dotenv import load_dotenv  # few agents have one

            load_dotenv(folder / ".env", override=False)
            return


def _import_file(path: Path) -> ModuleType:
    resolved = path.resolve()
    if resolved.is_file() and resolved.suffix != ".py":
        raise AgentError(Problem("is not an agent: expected a folder or a .py file", str(path)))
    name = resolved.stem if resolved.is_file() else resolved.name
    if not name.isidentifier():
        raise AgentError(
            Problem("its name cannot be imported", str(path), hint="letters, digits and underscores only")
        )
    if resolved.is_dir() and not any((resolved / f).is_file() for f in ("__init__.py", "agent.py")):
        raise AgentError(Problem("is not an agent: it holds neither `__init__.py` nor `agent.py`", str(path)))
    _step_aside(name, resolved)
    sys.path.insert(0, str(resolved.parent))
    importlib.invalidate_caches()
    module = _import(name, str(path))
    if resolved.is_dir() and (resolved / "agent.py").is_file():
        _import(f"{name}.agent", str(path))
    return module


def _step_aside(name: str, wanted: Path) -> None:
    """Forgets modules of this name that were imported from another place."""
    module = sys.modules.get(name)
    if module is None:
        return
    places = [Path(place).resolve() for place in getattr(module, "__path__", [])]
    if module.__file__:
        places.append(Path(module.__file__).resolve())
    if wanted not in places:
        for other in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
            del sys.modules[other]


def _import(name: str, reference: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # whatever the user's module does when it is imported
        raise AgentError(
            Problem(
                f"cannot be imported: {type(error).__name__}: {error}", reference, hint=_import_hint(error)
            )
        ) from error


def _import_hint(error: BaseException) -> str | None:
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("google.adk"):
        return "install google-adk: `pip install google-adk`"
    return None


def _agent_of(module: ModuleType, attribute: str | None, name: str, reference: str) -> Agent:
    modules = [module, sys.modules.get(f"{module.__name__}.agent")]
    wanted = (attribute,) if attribute else ATTRIBUTES
    for key in wanted:
        for holder in modules:
            found = getattr(holder, key, None)
            if found is not None and not isinstance(found, ModuleType):
                return _adapted(found, name, reference, factory=key == "get_agent_async")
    raise AgentError(
        Problem(
            f"`{module.__name__}` has no {' or '.join(f'`{key}`' for key in wanted)}",
            reference,
            hint="expose `root_agent`: a callable that takes `(message, session)`",
        )
    )


def _adapted(found: Any, name: str, reference: str, *, factory: bool) -> Agent:
    if any(cls.__module__.startswith("google.adk") for cls in type(found).__mro__):
        raise AgentError(Problem("is a Google ADK agent, which this version cannot run yet", reference))
    if not callable(found):
        raise AgentError(
            Problem(
                f"its agent is {type(found).__name__}, which cannot be called",
                reference,
                hint="an agent is a callable that takes `(message, session)`",
            )
        )
    return PythonAgent(name, _built_fresh(found) if factory else _shared(found))


def _shared(agent: PythonCallable) -> Callable[[], Awaitable[PythonCallable]]:
    async def make() -> PythonCallable:
        return agent

    return make


def _built_fresh(factory: Callable[[], Any]) -> Callable[[], Awaitable[PythonCallable]]:
    async def make() -> PythonCallable:
        built = factory()
        if inspect.isawaitable(built):
            built = await built
        if isinstance(built, tuple):  # (agent, exit stack), as older ADK samples return it
            built = built[0]
        agent: PythonCallable = built
        return agent

    return make
