"""What an evaluation leaves behind: run records, case results, and the summary of a whole result."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from agent_eval import clock
from agent_eval.schema.base import Many, Value
from agent_eval.schema.evalset import ConversationScenario
from agent_eval.schema.trace import Content, EvalStatus, IntermediateDataType, Invocation, Rubric

SCHEMA_VERSION = 1
"""Version of the files written; readers take every older one."""

RareCount = Annotated[int, Field(exclude_if=lambda count: count == 0)]
RareRate = Annotated[float | None, Field(exclude_if=lambda rate: rate is None)]
RareTexts = Annotated[Many[str], Field(exclude_if=operator.not_)]
RareText = Annotated[str | None, Field(exclude_if=lambda text: text is None)]
"""What few cases have; written where there is something to say."""


def _dated(text: str) -> str:
    clock.moment_of(text)
    return text


Moment = Annotated[str, AfterValidator(_dated)]
"""UTC, ISO 8601."""
Seconds = Annotated[float, Field(ge=0, le=1e12)]
"""How long something took; the calendar has fewer of them."""


class ErrorInfo(Value):
    """An exception as data."""

    type: str
    """Class name."""
    message: str
    traceback: str | None = None


class RunStatus(StrEnum):
    """Whether a run came to its end."""

    COMPLETED = "COMPLETED"
    CRASHED = "CRASHED"


class RubricScore(Value):
    """What a judge said of one rubric: 1.0 holds, 0.0 does not, None unanswered."""

    rubric_id: str
    rationale: str | None = None
    score: float | None = None


class JudgeUsage(Value):
    """What a judge was asked, and what it took."""

    model: str = ""
    requests: int = 0
    """Sent to the model."""
    cached: int = 0
    """Answered from the judge cache."""
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: JudgeUsage) -> JudgeUsage:
        return JudgeUsage(
            model=self.model or other.model,
            requests=self.requests + other.requests,
            cached=self.cached + other.cached,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


class StoppedBy(StrEnum):
    """What ended a conversation with a simulated user."""

    STOP_SIGNAL = "stop_signal"
    """The user said that it was over."""
    TURN_LIMIT = "turn_limit"
    """`max_allowed_invocations`, before the user said so."""
    END_OF_SCRIPT = "end_of_script"
    """A scripted user has said all of its turns."""
    NO_TURN_FITS = "no_turn_fits"
    """A scripted user has turns left, and none that fits the agent's last answer."""
    TIME_LIMIT = "time_limit"
    """`--timeout`: the run crashed."""
    ERROR = "error"
    """The run crashed, by the agent or by the simulated user."""


class SimulatorUsage(Value):
    """What a simulated user cost, apart from the agent."""

    model: str = ""
    requests: int = 0
    """Sent to the model."""
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: SimulatorUsage) -> SimulatorUsage:
        return SimulatorUsage(
            model=self.model or other.model,
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


RareEnd = Annotated[StoppedBy | None, Field(exclude_if=lambda end: end is None)]
"""What only runs with a simulated user have."""


class InvocationScore(Value):
    """One metric's value for one turn."""

    score: float | None = None
    status: EvalStatus = EvalStatus.INFORMATIONAL
    rationale: str | None = None
    """Why, in the judge's words."""
    rubric_scores: Many[RubricScore] | None = None
    details: dict[str, float] | None = None


class MetricResult(Value):
    """One metric's value for one run."""

    metric_name: str
    status: EvalStatus = EvalStatus.INFORMATIONAL
    score: float | None = None
    """The evaluator's overall score: finite, or None when there is none."""
    threshold: FiniteFloat | None = None
    per_invocation: Many[InvocationScore] = []
    rubric_scores: Many[RubricScore] | None = None
    details: dict[str, float] | None = None
    """Parts of the score; of an informational metric over one turn, those are the turn's alone."""
    reason: str | None = None
    """Why there is no score."""
    warnings: RareTexts = []
    """What to know of the score, whatever it is."""
    error: ErrorInfo | None = None
    """The exception behind `reason`, if there was one."""
    judge: JudgeUsage | None = None

    def overall(self) -> InvocationScore:
        """The value for the whole run, in the form a turn's has."""
        informs = self.status is EvalStatus.INFORMATIONAL
        only = self.per_invocation[0].details if informs and len(self.per_invocation) == 1 else None
        return InvocationScore(
            score=self.score,
            status=self.status,
            rubric_scores=self.rubric_scores,
            details=self.details or only,
        )


class FailedAttempt(Value):
    """A crash after which the run was tried again."""

    started: str
    seconds: float
    error: ErrorInfo


class SessionRecord(Value):
    """The session a run had, as it was at the end. Its events are those of the invocations."""

    app_name: str
    user_id: str
    session_id: str
    state: dict[str, Any] = {}


class ExpectedTurn(Value):
    """What the eval case expects of one turn."""

    final_response: Content | None = None
    intermediate_data: IntermediateDataType | None = None
    rubrics: Many[Rubric] | None = None


class RunRecord(Value):
    """One finished run, complete in itself. Written the moment the run is done."""

    eval_set_id: str
    eval_id: str
    run_index: int
    """0-based."""
    seed: int
    status: RunStatus = RunStatus.COMPLETED
    started: Moment
    seconds: Seconds
    error: ErrorInfo | None = None
    failed_attempts: Many[FailedAttempt] = []
    """Crashes before this attempt, in order."""
    session: SessionRecord | None = None
    context: Many[Invocation] = []
    """Turns before those that count: the events that the session began with, and `context_turns`."""
    invocations: Many[Invocation] = []
    """The turns as they were; the last one of a crashed run may have broken off."""
    stopped_by: StoppedBy | None = None
    """What ended the conversation; None unless a user was simulated."""
    simulator: SimulatorUsage | None = None
    """What the simulated user cost, failed attempts included; None where no model plays it."""
    expected: Many[ExpectedTurn] | None = None
    """The turns as the case has them; None where a user was simulated."""
    rubrics: Many[Rubric] | None = None
    """Those that the case has for all its turns."""
    final_session_state: dict[str, Any] | None = None
    """The state that the case expects at the end, if it does."""
    conversation_scenario: ConversationScenario | None = None
    """What the simulated user was to do."""
    metrics: Many[MetricResult] = []

    def metric(self, name: str) -> MetricResult | None:
        """The result of one metric, None if it was not computed."""
        return next((metric for metric in self.metrics if metric.metric_name == name), None)


class RunError(Value):
    """Why a run crashed, without its traceback (which the run record keeps)."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class RunScore:
    """One metric of one run, in the summary."""

    score: float | None
    status: EvalStatus


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run, in the summary. A plain dataclass, as there are as many as runs."""

    run_index: int
    status: RunStatus
    error: RunError | None
    seconds: float
    metrics: dict[str, RunScore]
    """Thresholded metrics; those of the informational ones are in the case's `per_run`."""
    retries: RareCount = 0
    """How often the run crashed and was tried again."""
    stopped_by: RareEnd = None


class Cause(Value):
    """Why something did not pass, as far as the records tell."""

    code: str
    """Of the rule that found it, such as `AE101`; `agent-eval explain AE101` tells more."""
    seen: str
    """What was seen, with the values, in a sentence."""
    change: str
    """What to change."""
    runs: Annotated[Many[int], Field(exclude_if=operator.not_)] = []
    """Where a case has several runs: the `run_index` of those it was seen in."""


RareCauses = Annotated[Many[Cause], Field(exclude_if=operator.not_)]


Interval95 = tuple[float, float]
"""A 95 % Wilson interval of a rate."""


class CaseMetric(Value):
    """One metric of one case over all its runs."""

    metric_name: str
    method: str | None = None
    """How runs become one score; None for informational metrics."""
    score: float | None = None
    threshold: FiniteFloat | None = None
    status: EvalStatus
    passed: int | None = None
    """Scored runs in which the metric met its own threshold."""
    scored: int | None = None
    """Runs in which the metric has a score."""
    pass_rate: float | None = None
    interval: Interval95 | None = None
    per_run: Many[float | None] = []
    """Overall score of each run, in run order; None where there is none."""
    reason: str | None = None
    warnings: RareTexts = []
    """Those of its runs, each once."""
    causes: Many[Cause] = []
    """Why it did not pass, most likely first."""

    @model_serializer(mode="wrap")
    def _brief_where_nothing_gates(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """An informational metric is written without the keys that only a gate has."""
        data: dict[str, Any] = serialize(self)
        if self.status is EvalStatus.INFORMATIONAL:
            return {key: data[key] for key in ("metric_name", "score", "status", "per_run")}
        return data


class CaseResult(Value):
    """The verdict of one case, with every count behind it."""

    eval_set_id: str
    eval_id: str
    sha256: str
    """Of the case as JSON, so that a changed case is noticed when results are compared."""
    verdict: EvalStatus
    reasons: RareTexts = []
    """What besides the metrics kept the case from passing."""
    causes: RareCauses = []
    """Why runs crashed, most likely first."""
    flaky: bool
    """Some runs passed, and some failed or crashed."""
    attempts: int
    """Runs made."""
    scored: int
    """Runs in which at least one thresholded metric has a score."""
    passed: int
    """Runs in which every thresholded metric passed."""
    crashed: int
    retries: RareCount = 0
    """Crashed attempts that were made up for."""
    saved: RareCount = 0
    """Runs that were not made since the verdict stood."""
    pass_rate: float | None = None
    """`passed` / `scored`; None when no run was scored."""
    interval: Interval95 | None = None
    pass_at_k: RareRate = None
    """Chance that at least one of k runs passes, k being the number of runs, if more than one."""
    pass_hat_k: RareRate = None
    """Chance that all of k runs pass."""
    required_pass_rate: RareRate = None
    """What `cross_run_criteria` asks of `pass_rate`, if it does."""
    metrics: Many[CaseMetric]
    runs: Many[RunSummary]


class EvalSetRef(Value):
    """Which eval set was run."""

    eval_set_id: str
    path: Annotated[str, Field(pattern=r"^[^\x00]*$")]
    """A file's name, so without NUL."""
    sha256: str


class AgentRef(Value):
    """Which agent was run."""

    name: str
    kind: str
    reference: str
    """As it was found: a folder, a file, `package.module:attr`."""


class ConfigRef(Value):
    """Which config was used; no path stands for the default config."""

    path: str | None
    sha256: str
    criteria: dict[str, Any]
    multi_run_config: dict[str, Any] = {}
    custom_metrics: dict[str, str] = {}
    """Dotted path of each metric of the user's own."""


class ShardRef(Value):
    """Which part of an evaluation this is, where several machines share its cases (`--shard`)."""

    index: int
    """From 1."""
    count: int
    used: int
    """How many shards have a case of any eval set: the first so many."""
    positions: list[int]
    """Of the cases that this one has, among all cases of the eval set that are to run; from 0."""
    cases: int
    """How many those are."""
    agents: list[str]
    """The references of their agents."""


class Provenance(Value):
    """What is needed to run the same again."""

    command: str
    seed: int
    git_commit: str | None
    git_dirty: bool | None
    packages: dict[str, str]
    graded_from: RareText = None
    """The id of the result whose runs were scored again. Seed and commit are those of the runs."""
    rerun_of: RareText = None
    """The id of the result that the runs are from which were not made again."""
    shard: Annotated[ShardRef | None, Field(exclude_if=lambda shard: shard is None)] = None
    merged_from: RareTexts = []
    """The ids of the shards that were merged."""
    changed_midway: RareTexts = []
    """What was not the same for all runs, as the evaluation was broken off and went on all the same."""


class TokenPrices(Value):
    """What a model's tokens cost."""

    model_config = ConfigDict(alias_generator=lambda name: name.replace("_", "-"))

    input_price: float = Field(ge=0, allow_inf_nan=False)
    """Of a million tokens."""
    output_price: float = Field(ge=0, allow_inf_nan=False)

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """Of so many tokens."""
        return (input_tokens * self.input_price + output_tokens * self.output_price) / 1_000_000


class JudgeTotals(JudgeUsage):
    """What one judge model was asked for a whole result."""

    cost: RareRate = None
    """In the currency of the prices that the project gives; None where it gives none."""


class SimulatorTotals(SimulatorUsage):
    """What simulated users cost in a whole result."""

    cost: RareRate = None
    """As of judges."""


class Totals(Value):
    """Counts over the cases of one result."""

    cases: int
    passed: int
    failed: int
    not_evaluated: int
    flaky: int
    crashed_runs: int = 0
    retries: int = 0
    saved_runs: int = 0
    duration_seconds: float
    tokens: dict[str, int]
    """Of the agent."""
    judges: Annotated[Many[JudgeTotals], Field(exclude_if=operator.not_)] = []
    simulator: Annotated[SimulatorTotals | None, Field(exclude_if=lambda usage: usage is None)] = None
    """What simulated users cost; only where there were some."""


class EvalResult(Value):
    """The summary of one eval set's evaluation, derived from its run records."""

    schema_version: int = SCHEMA_VERSION
    result_id: str
    created: Moment
    eval_set: EvalSetRef
    agent: AgentRef
    config: ConfigRef
    provenance: Provenance
    totals: Totals
    stopped: str | None = None
    """Why the evaluation ended before all runs were made."""
    causes: RareCauses = []
    """What the cases that did not pass have in common, and so is no fault of theirs."""
    cases: Many[CaseResult]

    @property
    def is_passed(self) -> bool:
        """Whether every case passed; one that could not be evaluated did not."""
        return self.totals.cases > 0 and self.totals.passed == self.totals.cases

    def case(self, eval_id: str) -> CaseResult:
        """The result of one case.

        Raises:
            KeyError: there is none of this id.
        """
        for case in self.cases:
            if case.eval_id == eval_id:
                return case
        raise KeyError(eval_id)
