"""What judged metrics share: questions about the turns of a run, votes on them, rows, one result."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from agent_eval.judge.base import Request
from agent_eval.judge.judge import Hearing, Judge
from agent_eval.judge.prompts import Exhibit
from agent_eval.judge.vote import Findings, Ruling, poll
from agent_eval.metrics.base import (
    EvalMetric,
    EvaluationResult,
    Evaluator,
    PerInvocationResult,
    RunContext,
)
from agent_eval.metrics.judged import evidence
from agent_eval.schema.config import BaseCriterion, JudgeCriterion, JudgeModelOptions
from agent_eval.schema.evalset import ConversationScenario, EvalCase
from agent_eval.schema.result import RubricScore
from agent_eval.schema.trace import EvalStatus, Invocation


class Judges(Protocol):
    """Where judged metrics get their judges from."""

    def judge(self, options: JudgeModelOptions) -> Judge:
        """The judge of one metric."""
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """A request to the judge, and what is voted on in its answers."""

    request: Request
    asked: Mapping[str, str]
    """Name -> the property or sentence that is judged; the text is empty where there is one verdict."""
    read: Callable[[str], Findings]
    """A finding on each name; raises `UnusableAnswerError`."""


@dataclass(frozen=True, slots=True)
class Row:
    """A metric's value for one turn."""

    score: float | None = None
    """None where there was nothing to judge, or the judge failed."""
    rationale: str | None = None
    rubric_scores: Sequence[RubricScore] | None = None
    details: Mapping[str, float] | None = None
    unjudged: str | None = None
    """Why the judge gave no verdict where one is due."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What is to be found out about one turn."""

    questions: tuple[Question, ...] = ()
    settled: Row | None = None
    """What is known without the judge."""


class JudgedEvaluator(Evaluator):
    """Computes a metric by asking a judge.

    What the judge fails at is not evaluated: a run passes only if every turn was judged that there
    is something to judge in.
    """

    criterion_type: ClassVar[type[BaseCriterion]] = JudgeCriterion
    nothing: ClassVar[str] = "there is no response to judge"
    """Why there is no score where nothing was there to be judged."""

    def __init__(self, eval_metric: EvalMetric, judge: Judge) -> None:
        super().__init__(eval_metric)
        self._judge = judge
        criterion = eval_metric.criterion or BaseCriterion(threshold=self.threshold)
        if not isinstance(criterion, self.criterion_type):
            criterion = self.criterion_type.model_validate(criterion.model_dump())
        self._criterion = criterion

    @property
    def options(self) -> JudgeModelOptions:
        """Which judge is asked, and how often."""
        return self._judge.options

    @abstractmethod
    def turns(self, run: RunContext) -> list[Turn]:
        """What is to be asked about each turn. Nothing is sent."""

    def response(self, turn: Invocation, heading: str = evidence.RESPONSE) -> Exhibit:
        """A turn's response, with what the agent said on the way where the criterion wants that."""
        whole = self._criterion.include_intermediate_responses_in_final
        return evidence.response(turn, heading, with_intermediate=whole)

    @abstractmethod
    def row(self, turn: Turn, rulings: Sequence[Ruling]) -> Row:
        """The value for a turn with questions, from what their samples say together."""

    def overall(self, rows: Sequence[Row]) -> float | None:
        """The run's score, from the turns that have one; None without any."""
        return mean([row.score for row in rows])

    def requests(self, run: RunContext) -> list[Request]:
        """Every request that scoring the run may send, each as often as it takes to decide."""
        return [question.request for turn in self.turns(run) for question in turn.questions]

    async def evaluate_run(self, run: RunContext) -> EvaluationResult:
        """Scores a run, its turns all at once."""
        turns = self.turns(run)
        hearing = self._judge.hearing()
        async with asyncio.TaskGroup() as group:
            asked = [
                [group.create_task(self._ruling(hearing, question)) for question in turn.questions]
                for turn in turns
            ]
        rows = [
            self.row(turn, [task.result() for task in tasks]) if tasks else turn.settled or Row()
            for turn, tasks in zip(turns, asked, strict=True)
        ]
        result = self.result(rows)
        if any(tasks for tasks in asked):
            result.judge = hearing.usage
        if hearing.unseen:
            result.warnings.append(f"the judge cannot see {', '.join(sorted(hearing.unseen))}")
        return result

    async def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """The same for turns alone."""
        case = EvalCase.model_construct(
            eval_id="", conversation=expected_invocations, conversation_scenario=conversation_scenario
        )
        return await self.evaluate_run(RunContext(case, actual_invocations, {}))

    async def _ruling(self, hearing: Hearing, question: Question) -> Ruling:
        return await poll(
            lambda sample: hearing.ask(question.request, sample, question.read),
            tuple(question.asked),
            self._judge.options.num_samples,
        )

    def result(self, rows: Sequence[Row]) -> EvaluationResult:
        """The rows and their score against the threshold.

        Turns without a verdict that is due keep a run from passing, but not from failing.
        """
        score = self.overall(rows)
        status = self.status(score)
        unjudged = [
            f"turn {number}: {row.unjudged}" if len(rows) > 1 else row.unjudged
            for number, row in enumerate(rows, 1)
            if row.unjudged
        ]
        if unjudged and status is not EvalStatus.FAILED:
            score, status = None, EvalStatus.NOT_EVALUATED
        reason = None
        if status is EvalStatus.NOT_EVALUATED:
            reason = unjudged[0] if unjudged else self.nothing
        return EvaluationResult(
            overall_score=score,
            overall_eval_status=status,
            per_invocation_results=[
                PerInvocationResult(
                    score=row.score,
                    eval_status=self.status(row.score),
                    rationale=row.rationale or row.unjudged,
                    rubric_scores=None if row.rubric_scores is None else list(row.rubric_scores),
                    details=dict(row.details) if row.details else None,
                )
                for row in rows
            ],
            reason=reason,
            warnings=[f"not judged: {told}" for told in unjudged] if reason is None else [],
        )

    def status(self, score: float | None) -> EvalStatus:
        """A score against the threshold."""
        if score is None:
            return EvalStatus.NOT_EVALUATED
        return EvalStatus.PASSED if score >= self.threshold else EvalStatus.FAILED


def mean(scores: Sequence[float | None]) -> float | None:
    """The mean of the scores there are, None without any."""
    there = [score for score in scores if score is not None]
    return sum(there) / len(there) if there else None


def expected_if_any(run: RunContext) -> list[tuple[Invocation, Invocation | None]]:
    """Each turn with what the case has of it.

    Raises:
        ValueError: the case has another number of turns.
    """
    expected = run.case.conversation
    if expected is None:
        return [(turn, None) for turn in run.invocations]
    if len(expected) != len(run.invocations):
        raise ValueError(f"the agent took {len(run.invocations)} turns where {len(expected)} are expected.")
    return list(zip(run.invocations, expected, strict=True))
