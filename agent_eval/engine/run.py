"""One RunSpec -> one RunRecord: play the conversation, score it, exceptions to data."""

from __future__ import annotations

import asyncio
import copy
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent_eval import clock, serde
from agent_eval.agents.base import Agent, AgentSession, SessionRequest, ToolRules, Turn
from agent_eval.agents.earlier import earlier_events, earlier_turns
from agent_eval.load.backoff import backoff
from agent_eval.load.refusals import Refusal, refusal_of
from agent_eval.load.traffic import RunTraffic, Traffic
from agent_eval.plan import RunSpec
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import (
    ErrorInfo,
    ExpectedTurn,
    FailedAttempt,
    MetricResult,
    RunRecord,
    RunStatus,
    SessionRecord,
    SimulatorUsage,
    StoppedBy,
)
from agent_eval.schema.trace import Invocation
from agent_eval.simulation.base import Player, SimulatedUserError

DEFAULT_USER = "test_user_id"
"""The user of cases without a `session_input`, as in ADK."""


class Scorer(Protocol):
    """What scores a run."""

    async def score(
        self,
        case: EvalCase,
        invocations: list[Invocation],
        state: Mapping[str, Any],
        context: Sequence[Invocation],
    ) -> Sequence[MetricResult]:
        """One result a metric. Turns before those that count are context."""
        ...

    async def aclose(self) -> None:
        """Gives back what the metrics hold."""
        ...


class RunTimeoutError(Exception):
    """A run took longer than it may."""


RETRY_SECONDS = 0.5
"""Wait before the first retry; it doubles with each, up to a limit."""
MAX_RETRY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Played:
    """A run before it is scored."""

    spec: RunSpec
    conversation: Conversation
    started: float
    seconds: float
    error: ErrorInfo | None
    failed_attempts: list[FailedAttempt]
    simulator: SimulatorUsage | None
    """What the simulated user cost over all attempts."""


async def play(
    spec: RunSpec, agent: Agent, player: Callable[[], Player], traffic: Traffic | None = None
) -> Played:
    """Has the conversation of one run; a crashed one is tried again as often as the spec allows.

    One that an endpoint refused, as it was asked too much, is tried again besides, after a pause that is
    for all runs. Whatever goes wrong inside is in the record.

    Args:
        spec: the run.
        agent: who answers.
        player: gives who asks, anew for each attempt.
        traffic: what all runs have in common that call the same models.
    """
    failed: list[FailedAttempt] = []
    simulator: SimulatorUsage | None = None
    calls = RunTraffic(traffic, spec.agent)
    crashed = refused = 0
    while True:
        await calls.begin()
        started, start, waited = clock.now(), clock.monotonic(), calls.waited
        user = player()
        conversation = Conversation(spec, agent, user, calls)
        error = await conversation.play()
        seconds = round(clock.monotonic() - start - (calls.waited - waited), 4)
        if user.usage:
            simulator = simulator + user.usage if simulator else user.usage
        if error is None:
            calls.succeeded()
            return Played(spec, conversation, started, seconds, None, failed, simulator)
        attempt = FailedAttempt(started=clock.timestamp(started), seconds=seconds, error=error)
        if conversation.refusal and await calls.again(conversation.refusal, refused + 1):
            refused += 1
        elif crashed < spec.retries:
            crashed += 1
            await asyncio.sleep(backoff(crashed, first=RETRY_SECONDS, longest=MAX_RETRY_SECONDS))
        else:
            return Played(spec, conversation, started, seconds, error, failed, simulator)
        failed.append(attempt)


async def score(played: Played, scorer: Scorer) -> RunRecord:
    """Scores a run, unless it crashed, and puts all of it on record."""
    spec, conversation, error = played.spec, played.conversation, played.error
    case, turns, context = spec.case.scored, conversation.scored_turns, conversation.context
    metrics = [] if error else await scorer.score(case, turns, conversation.state, context)
    return RunRecord(
        eval_set_id=spec.eval_set_id,
        eval_id=spec.case.eval_id,
        run_index=spec.run_index,
        seed=spec.seed,
        status=RunStatus.CRASHED if error else RunStatus.COMPLETED,
        started=clock.timestamp(played.started),
        seconds=played.seconds,
        error=error,
        failed_attempts=played.failed_attempts,
        session=SessionRecord(
            app_name=conversation.request.app_name,
            user_id=conversation.request.user_id,
            session_id=conversation.request.session_id,
            state=conversation.state if isinstance(conversation.state, dict) else {},
        ),
        context=context,
        invocations=turns,
        stopped_by=conversation.stopped_by(error),
        simulator=played.simulator,
        metrics=list(metrics),
        **expectations(case),
    )


def lost(
    spec: RunSpec, error: ErrorInfo, started: float, seconds: float, failed: Sequence[FailedAttempt] = ()
) -> RunRecord:
    """The record of a run of which nothing is left but how it ended."""
    return RunRecord(
        eval_set_id=spec.eval_set_id,
        eval_id=spec.case.eval_id,
        run_index=spec.run_index,
        seed=spec.seed,
        status=RunStatus.CRASHED,
        started=clock.timestamp(started),
        seconds=seconds,
        error=error,
        failed_attempts=list(failed),
        stopped_by=StoppedBy.ERROR if spec.case.conversation_scenario else None,
        **expectations(spec.case.scored),
    )


def expectations(case: EvalCase) -> dict[str, Any]:
    """What a case expects, as a run record has it."""
    return {
        "expected": expected_turns(case),
        "rubrics": case.rubrics,
        "final_session_state": case.final_session_state or None,
        "conversation_scenario": case.conversation_scenario,
    }


def expected_turns(case: EvalCase) -> list[ExpectedTurn] | None:
    """What a case expects, None for a scenario."""
    if case.conversation is None:
        return None
    return [
        ExpectedTurn(
            final_response=turn.final_response,
            intermediate_data=turn.intermediate_data,
            rubrics=turn.rubrics,
        )
        for turn in case.conversation
    ]


class Conversation:
    """The agent and the player talking, and what is left of it if it breaks off."""

    def __init__(self, spec: RunSpec, agent: Agent, player: Player, calls: RunTraffic) -> None:
        self._spec = spec
        self._calls = calls
        self._agent = agent
        self._player = player
        given = spec.case.session_input
        events = earlier_events(given.events) if given else []
        history = earlier_turns(events, agent.name)
        self.request = SessionRequest(
            app_name=(given and given.app_name) or agent.name,
            user_id=(given and given.user_id) or DEFAULT_USER,
            session_id=(given and given.session_id) or clock.new_id(12),
            state=copy.deepcopy(given.state) if given else {},
            run_index=spec.run_index,
            seed=spec.seed,
            tools=ToolRules(spec.config.tool_mocks, spec.config.tool_confirmation),
            events=events,
            history=history,
            calls=calls,
        )
        self._turns = [*history]
        """Those from before the run, then those taken; the last one may have broken off."""
        self._context = len(history) + spec.case.context_turns
        """How many of them do not count."""
        self._timed_out = False
        self.refusal: Refusal | None = None
        """What broke it off, if an endpoint was asked too much."""
        self.state: Any = serde.plain(self.request.state)

    @property
    def context(self) -> list[Invocation]:
        """The turns that do not count."""
        return self._turns[: self._context]

    @property
    def scored_turns(self) -> list[Invocation]:
        """The turns that count."""
        return self._turns[self._context :]

    def stopped_by(self, error: ErrorInfo | None) -> StoppedBy | None:
        """What ended it, with this error if there was one; None where nobody was simulated."""
        if self._spec.case.conversation_scenario is None:
            return None
        if error:
            return StoppedBy.TIME_LIMIT if self._timed_out else StoppedBy.ERROR
        return self._player.stopped_by

    async def play(self) -> ErrorInfo | None:
        """Plays to the end; what broke it off, if something did.

        The agent runs in a task of its own, so that it can cancel that at most. Only the
        cancellation of the evaluation itself passes.
        """
        try:
            async with asyncio.timeout(self._spec.timeout) as limit, asyncio.TaskGroup() as group:
                self._calls.limit = limit
                talk = group.create_task(self._talk())
        except TimeoutError:
            if not limit.expired():
                raise
            self._timed_out = True
            error = RunTimeoutError(f"the run took longer than {self._spec.timeout:g} s (--timeout)")
            return error_info(error)
        finally:
            self._calls.limit = None
        if talk.cancelled():
            return ErrorInfo(type="CancelledError", message="the agent cancelled its own task")
        return talk.result()

    async def _talk(self) -> ErrorInfo | None:
        """The conversation. The one place where an agent's failure becomes data."""
        session: AgentSession | None = None
        try:
            session = await self._agent.open(self.request)
            while (message := await self._player.next_message(self._turns)) is not None:
                await self._take_turn(session, Turn(message))
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task and task.cancelling():
                raise
            return error_info(error)
        except BaseException as error:
            if not isinstance(error, SimulatedUserError):  # its model was asked again already
                self.refusal = refusal_of(error)
            return error_info(error)
        finally:
            if session is not None:
                self.state = serde.plain(session.state)
                await session.close()
        return None

    async def _take_turn(self, session: AgentSession, turn: Turn) -> None:
        start, waited = clock.monotonic(), self._calls.waited
        try:
            await session.send(turn)
        finally:
            turn.seconds = clock.monotonic() - start - (self._calls.waited - waited)
            self._turns.append(turn.invocation())


def error_info(error: BaseException) -> ErrorInfo:
    """An exception as data, with the last frames of its traceback."""
    try:
        lines = traceback.format_exception(error, limit=-20)
    except Exception:  # of an exception class of the user's that cannot be shown
        lines = traceback.format_tb(error.__traceback__, limit=-20)
    return ErrorInfo(
        type=type(error).__name__,
        message=serde.told(error) or type(error).__name__,
        traceback=None if isinstance(error, RunTimeoutError | SimulatedUserError) else "".join(lines),
    )
