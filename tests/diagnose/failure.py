"""A failure as it is written down: cases, what the agent does in each, and which cause is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Step = Mapping[str, Any]
Call = tuple[str, dict[str, Any]]

TRAJECTORY = "tool_trajectory_avg_score"
MATCH = "response_match_score"
MEANING = "final_response_match_v2"


@dataclass(frozen=True)
class Turn:
    """A user's message, what the agent does, and what is expected."""

    user: str
    steps: tuple[Step, ...]
    calls: Sequence[Call] | None = None
    """Expected; None: the case says nothing of calls."""
    text: str | None = None
    """Expected."""
    responses: Sequence[tuple[str, dict[str, Any]]] = ()
    """Expected tool responses."""
    rubrics: Sequence[dict[str, Any]] = ()
    attached: str | None = None
    """MIME type of what the user sends along."""


@dataclass(frozen=True)
class Case:
    """One case; where runs differ, each has turns of its own."""

    runs: tuple[tuple[Turn, ...], ...]
    state: dict[str, Any] = field(default_factory=dict)
    app_name: str = "desk"
    keys: dict[str, Any] = field(default_factory=dict)
    judged: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """Results of judged metrics, as they are recorded."""
    is_scenario: bool = False
    stopped_by: str | None = None
    """What ends the conversation with a simulated user."""
    ends_after: int | None = None
    """Turns that are played, where the conversation ends early."""


@dataclass(frozen=True)
class Failure:
    """A failure and its cause."""

    name: str
    cause: str
    """The code that has to come first."""
    metric: str
    """Whose causes are looked at; empty: those of the crash, `*`: those of the whole result."""
    cases: Mapping[str, Case]
    config: Mapping[str, Any]
    agent: str = "desk"


def call(name: str, args: dict[str, Any] | None = None, /, returns: Any = None, raises: str = "") -> Step:
    """The agent calls a tool, which returns or raises something."""
    return {
        "call": name,
        "args": args or {},
        "returns": returns if returns is not None else {},
        "raises": raises,
    }


def say(text: str) -> Step:
    """The agent answers."""
    return {"say": text}


def incident(code: str, text: str = "", message: str = "", **keys: Any) -> Step:
    """The agent says something, or nothing, and reports an error with it."""
    content = {"role": "model", "parts": [{"text": text}]} if text else None
    return {"event": {"content": content, "error_code": code, "error_message": message or None, **keys}}


def code(source: str) -> Step:
    """The agent runs a line of code of its own; `session` is known there."""
    return {"code": source}


def error(kind: str, message: str) -> Step:
    """The agent raises what a framework or a client would."""
    return {"code": f"raise type({kind!r}, (Exception,), {{}})({message!r})"}


def turn(
    user: str, *steps: Step, calls: Sequence[Call] | None = None, text: str | None = None, **keys: Any
) -> Turn:
    """A turn."""
    return Turn(user, steps, calls, text, **keys)


def case(*turns: Turn, **keys: Any) -> Case:
    """A case that is the same in every run."""
    return Case((turns,), **keys)


def varying(*runs: Turn, **keys: Any) -> Case:
    """A case of one turn that is played otherwise in each run."""
    return Case(tuple((one,) for one in runs), **keys)


def failure(name: str, cause: str, metric: str, *cases: Case, agent: str = "desk", **config: Any) -> Failure:
    """A failure; without `criteria` the metric has to be perfect."""
    if "criteria" not in config:
        config["criteria"] = {metric: 1.0} if metric not in ("", "*") else {MATCH: 0.8}
    numbered = {f"case_{number}" if len(cases) > 1 else "case": one for number, one in enumerate(cases, 1)}
    return Failure(name, cause, metric, numbered, config, agent)
