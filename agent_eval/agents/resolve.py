"""A reference -> an agent: a folder, a `.py` file, or `package.module:attribute`.

A package is imported under its own name, so that its relative imports work.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agent_eval.agents.base import Agent
from agent_eval.agents.environment import load_env_file
from agent_eval.agents.factory import MadeAgent, Make, Once, fresh, given
from agent_eval.agents.python import PythonAgent
from agent_eval.errors import AgentError, Problem, did_you_mean
from agent_eval.imports import import_from

if TYPE_CHECKING:
    from google.adk.artifacts.base_artifact_service import BaseArtifactService

ATTRIBUTES = ("app", "root_agent", "agent", "get_agent_async")


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """How agents are built and run."""

    share: bool = False
    """Keep what a factory gives for all runs, instead of asking it anew for each."""
    record_inner_calls: bool = False
    """Record what ADK agents inside an AgentTool do."""
    artifacts: str | BaseArtifactService | None = None
    """Where ADK agents keep artifacts: a folder, `gs://bucket`, or a service; in memory if not given."""
    sub_agent: str | None = None
    """Run the ADK agent of this name below the one that is found."""


NO_OPTIONS = AgentOptions()


def resolve_agent(reference: str, options: AgentOptions) -> Agent:
    """The agent behind a reference.

    Raises:
        AgentError: there is none, its code cannot be imported, or it is of no known kind.
    """
    path = Path(reference)
    if path.exists():
        _load_dotenv(path)
        name = path.stem if path.is_file() else path.resolve().name
        if (path / "root_agent.yaml").is_file() and not (path / "agent.py").is_file():
            return _adk_from_yaml(path, name, options)
        return _agent_of(_import_file(path), None, name, reference, options)
    module_name, _, attribute = reference.partition(":")
    if not _is_importable(module_name):
        known = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        raise AgentError(
            Problem(
                f"there is no agent `{reference}`",
                hint=did_you_mean(path.name, known)
                or "name an agent's folder, its .py file, or `package.module:attribute`",
            )
        )
    module = _imported(lambda: importlib.import_module(module_name), reference)
    if module.__file__:
        _load_dotenv(Path(module.__file__))
    name = attribute or module_name.rpartition(".")[2]
    return _agent_of(module, attribute or None, name, reference, options)


def _is_importable(module_name: str) -> bool:
    """Whether a dotted name leads to a module, here or installed."""
    if not all(part.isidentifier() for part in module_name.split(".")):
        return False
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        return importlib.util.find_spec(module_name.partition(".")[0]) is not None
    except ValueError:  # a module without a spec, such as __main__
        return True


def _adk_from_yaml(path: Path, name: str, options: AgentOptions) -> Agent:
    """An ADK agent written as `root_agent.yaml`."""
    try:
        from agent_eval.agents.adk import load_yaml
    except ImportError as error:
        raise AgentError(Problem(str(error), str(path), hint=_import_hint(error))) from error
    try:
        agent = load_yaml(path / "root_agent.yaml")
    except Exception as error:  # whatever is wrong with the file, or with the code that it names
        raise AgentError(
            Problem(f"cannot be loaded: {type(error).__name__}: {error}", str(path / "root_agent.yaml"))
        ) from error
    return adapted(agent, name, str(path), None, options)


def _load_dotenv(path: Path) -> None:
    """Loads the `.env` of an agent. The environment is not overridden."""
    if file := dotenv_near(path):
        load_env_file(file)


def dotenv_near(path: Path) -> Path | None:
    """The `.env` nearest to an agent, upwards from it."""
    folders = (path.resolve(), *path.resolve().parents)
    return next((folder / ".env" for folder in folders if (folder / ".env").is_file()), None)


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
    module = _imported(lambda: import_from(name, resolved), str(path))
    if resolved.is_dir() and (resolved / "agent.py").is_file():
        _imported(lambda: importlib.import_module(f"{name}.agent"), str(path))
    return module


def _imported(load: Callable[[], ModuleType], reference: str) -> ModuleType:
    try:
        return load()
    except (Exception, SystemExit) as error:  # whatever the user's module does when it is imported
        raise AgentError(
            Problem(
                f"cannot be imported: {type(error).__name__}: {error}", reference, hint=_import_hint(error)
            )
        ) from error


def _import_hint(error: BaseException) -> str | None:
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("google.adk"):
        return "it is an agent of Google ADK: `pip install google-adk`"
    return None


def _agent_of(
    module: ModuleType, attribute: str | None, name: str, reference: str, options: AgentOptions
) -> Agent:
    holders = [holder for holder in (module, sys.modules.get(f"{module.__name__}.agent")) if holder]
    wanted = (attribute,) if attribute else ATTRIBUTES
    for key in wanted:
        for holder in holders:
            found = getattr(holder, key, None)
            if found is not None and not isinstance(found, ModuleType) and (key != "app" or _is_adk(found)):
                reset = next((hook for one in holders if (hook := getattr(one, "reset_data", None))), None)
                return adapted(found, name, reference, reset, options)
    raise AgentError(
        Problem(
            f"`{module.__name__}` has no {' or '.join(f'`{key}`' for key in wanted)}",
            reference,
            hint="expose `root_agent`: a callable that takes `(message, session)`, or an agent of Google ADK",
        )
    )


def _is_adk(found: Any) -> bool:
    return any(cls.__module__.startswith("google.adk.") for cls in type(found).__mro__)


def _is_factory(found: Any) -> bool:
    """Whether a callable gives the agent rather than being it: it takes nothing, not a message."""
    if _is_adk(found):
        return False
    try:
        signature = inspect.signature(found)
        signature.bind()
    except (TypeError, ValueError):
        return False
    try:
        signature.bind("message", "session")
    except TypeError:
        return True
    return False


def adapted(
    found: Any,
    name: str,
    reference: str,
    reset: Callable[[], object] | None = None,
    options: AgentOptions = NO_OPTIONS,
) -> Agent:
    """The adapter for what was found.

    Args:
        found: the agent, or a factory that makes it.
        name: its name.
        reference: where it was found, for errors.
        reset: what puts its data back before each run.
        options: how it is built and run.

    Raises:
        AgentError: it is of no known kind.
    """
    if not callable(found) and not _is_adk(found):
        raise AgentError(
            Problem(
                f"its agent is {type(found).__name__}, which cannot be called",
                reference,
                hint="an agent is a callable that takes `(message, session)`",
            )
        )

    def adapter(make: Make, sample: Any, *, is_fresh: bool) -> Agent:
        if not _is_adk(sample):
            if options.sub_agent:
                raise _no_sub_agent(options.sub_agent, reference)
            return PythonAgent(name, make)
        from agent_eval.agents.adk import AdkAgent, AdkSource, has_agent  # imports google-adk

        if options.sub_agent and not has_agent(sample, options.sub_agent):
            raise _no_sub_agent(options.sub_agent, reference)
        source = AdkSource(
            make, is_fresh, reset, options.record_inner_calls, options.artifacts, options.sub_agent
        )
        return AdkAgent(name, source)

    if _is_factory(found):
        make = fresh(found)
        return MadeAgent(
            name, Once(make) if options.share else make, partial(adapter, is_fresh=not options.share)
        )
    return adapter(given(found), found, is_fresh=False)


def _no_sub_agent(name: str, reference: str) -> AgentError:
    return AgentError(Problem(f"there is no sub-agent `{name}`", reference))
