"""What the engine needs of an agent: open a session, send it a user turn, close it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent_eval import clock
from agent_eval.agents.events import Timing, to_invocations
from agent_eval.agents.tools import ToolRules
from agent_eval.load.traffic import RunTraffic
from agent_eval.schema.trace import USER_AUTHOR, AppDetails, Content, Event, Invocation


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """The session a run starts from. Each run has its own."""

    app_name: str
    user_id: str
    session_id: str
    state: dict[str, Any]
    """A copy that belongs to the session."""
    run_index: int = 0
    seed: int = 0
    tools: ToolRules = field(default_factory=ToolRules)
    events: Sequence[Event] = ()
    """What the session has seen before, as `agents.earlier` prepares it."""
    history: Sequence[Invocation] = ()
    """The turns that these events make."""
    calls: RunTraffic = field(default_factory=RunTraffic)
    """What model calls wait for; an adapter that sees them asks it before each."""


@dataclass(slots=True)
class Turn:
    """One user turn under way. An adapter adds events as they come, so that none is lost in a crash."""

    message: Content
    invocation_id: str = field(default_factory=clock.new_id)
    asked_at: float = field(default_factory=clock.now)
    events: list[Event] = field(default_factory=list)
    seconds: float | None = None
    model_seconds: float | None = None
    """Of these, with a model call under way; None if the adapter cannot tell."""
    tool_seconds: float | None = None
    """Of these, inside tools; None if the adapter cannot tell."""
    app_details: AppDetails | None = None

    def add(self, event: Event) -> None:
        """Adds what the agent did next."""
        self.events.append(event)

    def invocation(self) -> Invocation:
        """The turn as it stands."""
        question = Event(author=USER_AUTHOR, content=self.message, timestamp=round(self.asked_at, 3))
        events = [
            event if event.invocation_id == "" else event.model_copy(update={"invocation_id": ""})
            for event in (question, *self.events)
        ]
        (invocation,) = to_invocations(
            events,
            app_details={"": self.app_details} if self.app_details else None,
            incidents=True,
            timings={"": Timing(*map(_tenths_of_ms, (self.seconds, self.model_seconds, self.tool_seconds)))},
        )
        return invocation.model_copy(update={"invocation_id": self.invocation_id})


def _tenths_of_ms(seconds: float | None) -> float | None:
    """Rounded to what a measurement on an event loop is worth."""
    return None if seconds is None else round(seconds, 4)


class AgentSession(Protocol):
    """One conversation under way."""

    @property
    def state(self) -> dict[str, Any]:
        """The session's state as it is now."""
        ...

    async def send(self, turn: Turn) -> None:
        """Sends a turn's message and adds to the turn what the agent does until it is done."""
        ...

    async def close(self) -> None:
        """Gives back what the session holds."""
        ...


__all__ = ["Agent", "AgentSession", "SessionRequest", "ToolRules", "Turn"]


class Agent(Protocol):
    """An agent that can be talked to."""

    @property
    def name(self) -> str:
        """The agent's name, the author of events that name none."""
        ...

    @property
    def kind(self) -> str:
        """What it is made of: `python`, `adk`, `http`."""
        ...

    async def open(self, request: SessionRequest) -> AgentSession:
        """Starts a session of its own: from the events of the request, else from an empty conversation."""
        ...

    async def details(self) -> AppDetails | None:
        """Instructions and tools, as far as the agent shows them without being asked anything."""
        ...

    async def aclose(self) -> None:
        """Gives back what the agent keeps for all runs, once they are over, in their event loop."""
        ...
