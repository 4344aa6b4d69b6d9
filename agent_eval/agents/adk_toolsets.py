"""Tool connections that belong to one run: ADK's toolsets, of which a shared agent has only one each.

A run closes its toolsets when it is done, and must not close what another run is using. So a
shared agent is copied where toolsets can be reached from it, and the copy's are built anew.
"""

from __future__ import annotations

import copy
import inspect
import weakref
from collections.abc import Callable, Iterator, Set
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from pydantic import BaseModel

from agent_eval.agents.factory import close_quietly

INNER = ("agent", "node")
"""Where tools that run an agent keep it."""

HOLDERS = (BaseModel, BaseTool, BaseToolset, list, tuple, dict)
"""What can hold a toolset, or be one."""


class ToolsetError(Exception):
    """A toolset that cannot list its tools."""


class Toolsets:
    """The toolsets of one run."""

    def __init__(self) -> None:
        self._own: list[BaseToolset] = []
        self.failure: ToolsetError | None = None
        """The first one that could not list its tools; ADK goes on without them, a run must not."""

    def of(self, root: Any, known: weakref.WeakSet[BaseToolset], *, is_fresh: bool) -> Any:
        """The root of an agent whose toolsets belong to this run.

        Args:
            root: the agent or node.
            known: toolsets that earlier runs had; these are added.
            is_fresh: whether the agent was made for this run, and can be taken as it is unless
                what made it gave it toolsets that it gave others.
        """
        found = [part for part in reachable(root) if isinstance(part, BaseToolset)]
        if not found:
            return root
        is_own = is_fresh and known.isdisjoint(found)
        known.update(found)
        if not is_own:
            return self._copied(root, {})
        self._own += [self._watched(toolset) for toolset in found]
        return root

    async def close(self) -> None:
        """Closes them; a server that is gone already has nothing to close."""
        for toolset in self._own:
            await close_quietly(type(toolset).__name__, toolset.close)

    def _watched(self, toolset: BaseToolset) -> BaseToolset:
        """The same toolset; that it cannot list its tools is noted."""
        get_tools = toolset.get_tools

        async def watched(readonly_context: Any = None) -> Any:
            try:
                return await get_tools(readonly_context)
            except Exception as error:
                if not self.failure:
                    self.failure = ToolsetError(f"{type(toolset).__name__} cannot list its tools: {error}")
                    self.failure.__cause__ = error
                raise

        toolset.get_tools = watched
        return toolset

    def _copied(self, value: Any, copies: dict[int, Any]) -> Any:
        """A copy of every agent, with toolsets of this run; what holds neither is shared."""
        if id(value) in copies:
            return copies[id(value)]
        copied = value
        if isinstance(value, BaseToolset):
            copied = self._watched(self._rebuilt(value))
        elif type(value) in (list, tuple, dict):
            copied = self._copied_collection(value, copies)
        elif isinstance(value, BaseTool):
            changes = self._changes({name: getattr(value, name, None) for name in INNER}, copies)
            if changes:
                copied = copy.copy(value)
                for name, inner in changes.items():
                    setattr(copied, name, inner)
        elif _is_part_of_adk(value):
            changes = self._changes(_fields(value), copies)
            if isinstance(value, BaseAgent):  # always: a sub-agent knows its parent
                copied = value.clone(update=changes)
            elif changes:
                copied = value.model_copy(update=changes)
        copies[id(value)] = copied
        return copied

    def _copied_collection(self, values: Any, copies: dict[int, Any]) -> Any:
        """The same list, tuple or dict if nothing in it had to be copied."""
        if isinstance(values, dict):
            changes = self._changes(values, copies)
            return values | changes if changes else values
        copied = [self._copied(value, copies) for value in values]
        same = all(one is other for one, other in zip(values, copied, strict=True))
        return values if same else type(values)(copied)

    def _changes(self, values: dict[str, Any], copies: dict[int, Any]) -> dict[str, Any]:
        """Those values that had to be copied."""
        copied = {name: self._copied(value, copies) for name, value in values.items()}
        return {name: value for name, value in copied.items() if value is not values[name]}

    def _rebuilt(self, toolset: BaseToolset) -> BaseToolset:
        """A toolset of this run like the given one, built with what that one was built with.

        ADK's toolsets keep each argument of their constructor under its name. One that does not
        is shared: a shallow copy, which is not closed.
        """
        try:
            built = type(toolset)(**_constructor_arguments(toolset))
        except Exception:  # it cannot be built that way, whatever its constructor says
            return copy.copy(toolset)
        self._own.append(built)
        return built


def out_of_reach(root: Any, names: Set[str]) -> str | None:
    """The name of a tool among `names` that no plugin sees: inside an AgentTool that leaves plugins out."""
    for part in reachable(root):
        if isinstance(part, BaseTool) and getattr(part, "include_plugins", True) is False:
            for below in reachable(getattr(part, "agent", None)):
                for tool in getattr(below, "tools", None) or ():
                    name = getattr(tool, "name", None) or getattr(tool, "__name__", None)
                    if name in names:
                        return str(name)
    return None


def _constructor_arguments(toolset: BaseToolset) -> dict[str, Any]:
    """What a toolset was built with.

    Raises:
        LookupError: an argument that it needs is not kept.
    """
    arguments: dict[str, Any] = {}
    for name, parameter in _constructor_parameters(type(toolset)):
        kept = [attribute for attribute in (f"_{name}", name) if hasattr(toolset, attribute)]
        if kept:
            arguments[name] = getattr(toolset, kept[0])
        elif parameter.default is parameter.empty:
            raise LookupError(name)
    return arguments


def _constructor_parameters(kind: type) -> Iterator[tuple[str, inspect.Parameter]]:
    """The parameters of a class's constructor; those of its base come where it passes `**kwargs` on."""
    for base in kind.__mro__:
        constructor: Callable[..., Any] | None = vars(base).get("__init__")
        if constructor is None:
            continue
        parameters = inspect.signature(constructor).parameters.items()
        variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        yield from [(name, one) for name, one in parameters if name != "self" and one.kind not in variable]
        if not any(one.kind is one.VAR_KEYWORD for _, one in parameters):
            return


def reachable(value: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """The value and all of ADK's agents, nodes, tools and toolsets that it holds, each once."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    yield value
    if type(value) in (list, tuple):
        inside: Any = value
    elif type(value) is dict:
        inside = value.values()
    elif isinstance(value, BaseTool):
        inside = [getattr(value, name, None) for name in INNER]
    elif _is_part_of_adk(value):
        inside = _fields(value).values()
    else:
        return
    for part in inside:
        if isinstance(part, HOLDERS):
            yield from reachable(part, seen)


def _is_part_of_adk(value: Any) -> bool:
    """Whether it is an agent, a workflow, or one of the graphs and edges that workflows are made of."""
    kind = type(value)
    if kind not in _PARTS_OF_ADK:
        places = ("google.adk.workflow.", "google.adk.agents.")
        _PARTS_OF_ADK[kind] = issubclass(kind, BaseModel) and any(
            base.__module__.startswith(places) for base in kind.__mro__
        )
    return _PARTS_OF_ADK[kind]


_PARTS_OF_ADK: dict[type, bool] = {}
"""What is known so far of the classes that were met."""


def _fields(value: BaseModel) -> dict[str, Any]:
    """The fields that lead down; `parent_agent` leads up."""
    return {name: getattr(value, name) for name in type(value).model_fields if name != "parent_agent"}
