"""A model in this process: a callable of one's own, for tests and for work without a network."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_eval.errors import InputError, Problem, did_you_mean
from agent_eval.imports import import_below
from agent_eval.judge.base import Failure, ModelError, Reply, Request
from agent_eval.threads import in_thread

PREFIX = "python/"


class PythonModel:
    """Calls `f(request)`, sync or async, for a text or a `Reply`."""

    endpoint: str | None = None

    def __init__(self, name: str, function: Callable[[Request], Any]) -> None:
        self.name = name
        self._function = function

    async def ask(self, request: Request) -> Reply:
        """What the callable gives; a sync one runs in a thread.

        Raises:
            ModelError: by the callable, or in place of what else it raises.
        """
        try:
            said = await self._called(request)
        except ModelError:
            raise
        except (Exception, SystemExit) as error:  # whatever the user's code does
            raise ModelError(Failure.SERVER, f"{self.name}: {type(error).__name__}: {error}") from error
        if isinstance(said, str):
            return Reply(said)
        if not isinstance(said, Reply):
            told = f"{self.name}: returned {type(said).__name__}, not a text or a Reply"
            raise ModelError(Failure.SERVER, told)
        return said

    async def _called(self, request: Request) -> Any:
        function = self._function
        is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            type(function).__call__
        )
        said = function(request) if is_async else await in_thread(lambda: function(request))
        return await said if inspect.isawaitable(said) else said

    async def siblings(self) -> list[str]:
        """There are none."""
        return []

    async def aclose(self) -> None:
        """Nothing to close."""


def open_python_model(name: str, folders: tuple[Path, ...]) -> PythonModel:
    """The model behind `python/<module>:<attribute>`, looked for in `folders` and among installed packages.

    Raises:
        InputError: there is no such module or attribute, or it is not callable.
    """
    module_name, _, attribute = name.removeprefix(PREFIX).partition(":")
    try:
        found: Any = import_below(module_name, folders)
    except (Exception, SystemExit) as error:  # whatever the user's module does when it is imported
        told = f"`{name}`: cannot import `{module_name}`: {type(error).__name__}: {error}"
        raise InputError(Problem(told, hint="write `python/module:function`")) from error
    for step in attribute.split("."):
        if not hasattr(found, step):
            hint = did_you_mean(step, dir(found))
            raise InputError(Problem(f"`{name}`: `{module_name}` has no `{attribute}`", hint=hint))
        found = getattr(found, step)
    if not callable(found):
        raise InputError(Problem(f"`{name}` is {type(found).__name__}, which cannot be called"))
    return PythonModel(name, found)
