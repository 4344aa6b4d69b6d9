"""The rubric metrics: yes-or-no properties of the config and the cases, each voted on by itself."""

from __future__ import annotations

import statistics
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from agent_eval.errors import did_you_mean
from agent_eval.judge.answers import YES_NO, read_findings
from agent_eval.judge.prompts import Exhibit, request, verdicts_form
from agent_eval.judge.vote import Ruling
from agent_eval.metrics.base import EvaluationResult, RunContext
from agent_eval.metrics.judged import evidence
from agent_eval.metrics.judged.base import JudgedEvaluator, Question, Row, Turn, expected_if_any
from agent_eval.schema.config import BaseCriterion, RubricsCriterion
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import RubricScore
from agent_eval.schema.trace import Invocation, Rubric

RUBRIC_TYPES = ("FINAL_RESPONSE_QUALITY", "TOOL_USE_QUALITY", "TRAJECTORY_QUALITY")
"""What rubrics of cases and turns are for. Those of a criterion are for its metric, whatever their type."""

MEASURE = """\
For each property, in its order, first say in a sentence or two what in the evidence speaks for or \
against it, then give the verdict: `yes` if it holds, or if what it is about does not come up; `no` if \
it does not hold, or if the evidence does not show that it does. Judge each property by itself and by \
its words; add none and leave none out."""


class PropertiesEvaluator(JudgedEvaluator):
    """A metric whose score is the share of properties that hold."""

    instructions: ClassVar[str]

    def question(self, exhibits: Sequence[Exhibit], properties: Mapping[str, str]) -> Question:
        """The question whether each property holds."""
        listed = "\n".join(f"- `{name}`: {_indented(text)}" for name, text in properties.items())
        asked = request(
            f"{self.instructions}\n\n{MEASURE}",
            exhibits,
            verdicts_form(list(properties), YES_NO),
            f"The properties:\n{listed}",
        )
        return Question(asked, properties, lambda text: read_findings(text, properties, YES_NO))

    def row(self, turn: Turn, rulings: Sequence[Ruling]) -> Row:
        """The share of properties that hold, if every one is decided."""
        (ruling,) = rulings
        scores = [
            RubricScore(rubric_id=name, rationale=finding.rationale, score=float(bool(finding.holds)))
            for name, finding in ruling.findings.items()
        ]
        if ruling.reason is None:
            return Row(exact_mean(scores), rubric_scores=scores)
        return Row(rubric_scores=scores or None, unjudged=ruling.reason)

    def overall(self, rows: Sequence[Row]) -> float | None:
        """The share over all turns: a turn with more rubrics weighs more, as in ADK."""
        return exact_mean(score for row in rows if row.score is not None for score in row.rubric_scores or ())

    def result(self, rows: Sequence[Row]) -> EvaluationResult:
        """With the mean of each rubric over the turns."""
        result = super().result(rows)
        judged = [row.rubric_scores or () for row in rows if row.score is not None]
        result.overall_rubric_scores = means_of_rubrics(judged) or None
        return result


def exact_mean(scores: Iterable[RubricScore]) -> float | None:
    """The exactly rounded mean of the scores there are, None without any."""
    there = [score.score for score in scores if score.score is not None]
    return statistics.mean(there) if there else None


def means_of_rubrics(turns: Iterable[Iterable[RubricScore]]) -> list[RubricScore]:
    """The mean of each rubric over the turns. The reasons are those of the only turn, if there is one."""
    by_id: dict[str, list[RubricScore]] = {}
    for turn in turns:
        for score in turn:
            by_id.setdefault(score.rubric_id, []).append(score)
    return [
        RubricScore(
            rubric_id=rubric_id,
            rationale=scores[0].rationale if len(scores) == 1 else None,
            score=exact_mean(scores),
        )
        for rubric_id, scores in by_id.items()
    ]


class RubricsEvaluator(PropertiesEvaluator):
    """A metric by the rubrics of its criterion, and those of its type that cases and turns have."""

    criterion_type = RubricsCriterion
    rubric_type: ClassVar[str]

    @classmethod
    def criterion_problems(cls, criterion: BaseCriterion) -> Iterator[str]:
        """Rubrics of the criterion that say nothing, or cannot be told apart."""
        own = _own(criterion)
        yield from filter(None, (rubric.fault() for rubric in own))
        yield from map(_told_twice, _repeated(own))

    @classmethod
    def case_problems(cls, criterion: BaseCriterion, case: EvalCase) -> Iterator[str]:
        """Rubrics that say nothing, cannot be told apart, or are for no metric; and turns without any."""
        own = _own(criterion)
        turns = case.conversation or []
        given = [*(case.rubrics or ()), *(rubric for turn in turns for rubric in turn.rubrics or ())]
        yield from filter(None, (rubric.fault() for rubric in given))
        yield from (told for rubric in given for told in _for_no_metric(rubric))
        for scope in cls._scopes(case):
            asked = [*own, *cls._of_type(scope)]
            yield from (_told_twice(name) for name in _repeated(asked) if name not in _repeated(own))
            if not asked:
                yield NO_RUBRICS

    @classmethod
    @abstractmethod
    def _scopes(cls, case: EvalCase) -> list[list[Rubric]]:
        """The rubrics of the case that are asked about together, once for each question."""

    @classmethod
    def _of_type(cls, rubrics: Iterable[Rubric]) -> list[Rubric]:
        return [rubric for rubric in rubrics if rubric.type == cls.rubric_type]

    def properties(self, rubrics: Iterable[Rubric]) -> dict[str, str]:
        """The properties to ask about: the criterion's, then those given that are of the metric's type.

        Raises:
            ValueError: there are none, or two of the same id.
        """
        asked = [*_own(self._criterion), *self._of_type(rubrics)]
        if repeated := _repeated(asked):
            raise ValueError(_told_twice(repeated[0]))
        if not asked:
            raise ValueError(NO_RUBRICS)
        return {rubric.rubric_id: rubric.rubric_content.text_property or "" for rubric in asked}


def _for_no_metric(rubric: Rubric) -> Iterator[str]:
    """A type that is none, or nearly one. Others may be for metrics of the user's own."""
    if not rubric.type:
        types = ", ".join(f"`{known}`" for known in RUBRIC_TYPES)
        yield f"rubric `{rubric.rubric_id}` has no `type`, so that no metric uses it; there are {types}"
    elif rubric.type not in RUBRIC_TYPES:
        hint = did_you_mean(rubric.type.upper(), RUBRIC_TYPES)
        if hint:
            yield f"rubric `{rubric.rubric_id}` has the type `{rubric.type}`: {hint}"


class TurnRubricsEvaluator(RubricsEvaluator):
    """A rubric metric that looks at each turn."""

    def turns(self, run: RunContext) -> list[Turn]:
        """One question for each turn, about its rubrics."""
        return [
            Turn(
                (
                    self.question(
                        self.exhibits(turn, [*run.context, *run.invocations[:number]]),
                        self.properties(
                            [
                                *(run.case.rubrics or ()),
                                *((expected.rubrics if expected else None) or ()),
                                *(turn.rubrics or ()),
                            ]
                        ),
                    ),
                )
            )
            for number, (turn, expected) in enumerate(expected_if_any(run))
        ]

    @abstractmethod
    def exhibits(self, turn: Invocation, earlier: Sequence[Invocation]) -> list[Exhibit]:
        """What the judge sees of a turn."""

    @classmethod
    def _scopes(cls, case: EvalCase) -> list[list[Rubric]]:
        of_case = case.rubrics or []
        return [[*of_case, *(turn.rubrics or ())] for turn in case.conversation or []] or [of_case]


class FinalResponseQuality(TurnRubricsEvaluator):
    """`rubric_based_final_response_quality_v1`: share of rubrics that the final responses meet."""

    rubric_type = "FINAL_RESPONSE_QUALITY"
    instructions = """\
You judge the final response of an AI agent by given properties. You see the agent's instructions and \
tools as far as they are known, the conversation before, what the user says, the steps the agent took, \
and its final response, which alone is judged.

Facts in the response count as right only if the user's words, the agent's instructions, or what tools, \
code and sources returned show them. A result counts only if the call behind it was a sensible one: the \
fitting tool, with the fitting arguments. What the agent itself says, in its response or on the way, \
proves nothing, and neither does your own knowledge. The wording is free, and so is the rounding of \
numbers as long as they mean the same."""

    def exhibits(self, turn: Invocation, earlier: Sequence[Invocation]) -> list[Exhibit]:
        """Instructions, tools, the conversation so far, the steps and the response."""
        return [
            *evidence.background([turn]),
            *evidence.history(earlier),
            evidence.message("The user says", turn.user_content),
            *evidence.steps(turn),
            self.response(turn),
        ]


class ToolUseQuality(TurnRubricsEvaluator):
    """`rubric_based_tool_use_quality_v1`: share of rubrics that the tool calls meet."""

    rubric_type = "TOOL_USE_QUALITY"
    instructions = """\
You judge how an AI agent used its tools, by given properties. You see the tools as far as they are \
known, the conversation before, what the user says, and the steps the agent took: its calls with their \
arguments, and what they returned. Where a property names a tool or an argument, take the name exactly \
and the value in substance, unless the property asks for the exact value. If there is no call among the \
steps, none was made."""

    def exhibits(self, turn: Invocation, earlier: Sequence[Invocation]) -> list[Exhibit]:
        """The tools, the conversation so far, and the steps."""
        taken = evidence.steps(turn)
        return [
            *evidence.background([turn]),
            *evidence.history(earlier),
            evidence.message("The user says", turn.user_content),
            *(taken or [Exhibit("The steps the agent took", "")]),
        ]


class ConversationEvaluator(PropertiesEvaluator):
    """A metric that looks at the whole conversation once. The last turn has the score."""

    nothing = "there is no turn to judge"

    def turns(self, run: RunContext) -> list[Turn]:
        """One question, about all turns, at the last one."""
        expected_if_any(run)
        if not run.invocations:
            return []
        exhibits = [
            *evidence.background(run.invocations),
            *self.wishes(run),
            *evidence.history(run.context),
            *evidence.conversation(run.invocations),
        ]
        asked = self.question(exhibits, self.conversation_properties(run))
        return [*(Turn() for _ in run.invocations[1:]), Turn((asked,))]

    def wishes(self, run: RunContext) -> list[Exhibit]:
        """What the user is known to want, besides what is said."""
        return []

    @abstractmethod
    def conversation_properties(self, run: RunContext) -> dict[str, str]:
        """The properties to ask about."""


class ConversationRubrics(RubricsEvaluator, ConversationEvaluator):
    """`rubric_based_multi_turn_trajectory_quality_v1`: share of rubrics that the conversation meets."""

    rubric_type = "TRAJECTORY_QUALITY"
    instructions = """\
You judge how an AI agent did over a whole conversation, by given properties. You see its instructions \
and tools as far as they are known, and every turn: what the user said, the steps the agent took with \
their results, and its final response. What was wrong in one turn and put right in a later one is to be \
weighed as both. Where a property does not hold, name the turn in which it was broken."""

    def conversation_properties(self, run: RunContext) -> dict[str, str]:
        """The rubrics of the criterion, the case and all its turns."""
        (scope,) = self._scopes(run.case)
        return self.properties([*scope, *_once(turn.rubrics for turn in run.invocations)])

    @classmethod
    def _scopes(cls, case: EvalCase) -> list[list[Rubric]]:
        return [[*(case.rubrics or ()), *_once(turn.rubrics for turn in case.conversation or ())]]


def _once(turns: Iterable[list[Rubric] | None]) -> list[Rubric]:
    """The rubrics of all turns; one that several turns have alike is one."""
    rubrics: list[Rubric] = []
    for rubric in (rubric for turn in turns for rubric in turn or ()):
        if rubric not in rubrics:
            rubrics.append(rubric)
    return rubrics


def _own(criterion: BaseCriterion) -> list[Rubric]:
    return criterion.rubrics if isinstance(criterion, RubricsCriterion) else []


def _repeated(rubrics: Iterable[Rubric]) -> list[str]:
    """The ids that several rubrics have."""
    counts = Counter(rubric.rubric_id for rubric in rubrics)
    return [name for name, count in counts.items() if count > 1]


NO_RUBRICS = "there are no rubrics to judge by: `rubrics` of the criterion, the case and its turns count"


def _told_twice(rubric_id: str) -> str:
    return f"duplicate rubric id `{rubric_id}`"


def _indented(text: str) -> str:
    return text.strip().replace("\n", "\n  ")
