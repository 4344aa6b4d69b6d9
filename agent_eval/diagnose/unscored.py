"""Rules about metrics that have no score (AE501 to AE515), and about those that nothing is known of."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_eval.diagnose.base import Clue, Kind, Level, Rule
from agent_eval.diagnose.crashes import CREDENTIALS, NO_MODEL, QUOTA, UNREACHABLE
from agent_eval.diagnose.evidence import Evidence
from agent_eval.diagnose.wording import count, cut, quoted

_UNSET = re.compile("not supported between .*NoneType|unsupported operand .*NoneType")


def _is_judged(evidence: Evidence) -> bool:
    metric = evidence.metric
    return metric is not None and (metric.judge is not None or "judge_model_options" in evidence.criterion)


def _reason(evidence: Evidence) -> str:
    return cut(
        (evidence.metric.reason if evidence.metric else None) or evidence.told or "no reason given", 200
    )


def quota(evidence: Evidence) -> Iterator[Clue]:
    """A quota or a rate limit of what the metric asks."""
    if not QUOTA.search(evidence.told):
        return
    judged = _is_judged(evidence)
    who = "judge" if judged else "metric"
    yield Clue(
        f"the {who} ran into a quota or a rate limit: {_reason(evidence)}",
        "lower `--judge_parallelism` or `num_samples`, or wait: what was answered is in the judge cache"
        if judged
        else "lower `--parallelism`, or let the metric wait and try again",
        Level.WHOLE,
    )


def unset_threshold(evidence: Evidence) -> Iterator[Clue]:
    """A metric of the user's own that reads the wrong threshold."""
    error = evidence.error
    if error and error.type == "TypeError" and _UNSET.search(error.message):
        yield Clue(
            f"the metric reckons with a value that is None: {cut(error.message, 120)}; "
            "`eval_metric.threshold` is None by contract",
            "read `eval_metric.criterion.threshold` instead",
            Level.WHOLE,
        )


def metric_timeout(evidence: Evidence) -> Iterator[Clue]:
    """A metric that took too long."""
    if evidence.error and evidence.error.message.startswith("took longer than"):
        yield Clue(
            f"the metric {cut(evidence.error.message, 120)}",
            "see what it waits for; if it only takes long, raise `--metric_timeout`",
            Level.WHOLE,
        )


def no_result(evidence: Evidence) -> Iterator[Clue]:
    """A metric that gave something that is no result."""
    error = evidence.error
    if error and error.type == "MetricError" and error.message.startswith("returned "):
        yield Clue(
            f"the metric {cut(error.message, 160)}",
            "return a finite number, or an `EvaluationResult` with one row a turn (or none)",
            Level.WHOLE,
        )


def no_expected_turns(evidence: Evidence) -> Iterator[Clue]:
    """A metric that compares, in a case that has nothing to compare with."""
    if evidence.run.record.expected is None and re.search(
        r"expected turns|expected_invocations", evidence.told
    ):
        yield Clue(
            f"the metric compares with expected turns, and the case is a scenario, which has none: "
            f"{_reason(evidence)}",
            "take the metric out of this eval set's criteria, and judge scenarios by rubrics or by "
            "`multi_turn_task_success_v1`",
            Level.WHOLE,
        )


def turn_count(evidence: Evidence) -> Iterator[Clue]:
    """Not as many turns as expected."""
    expected, taken = evidence.run.record.expected, len(evidence.run.turns)
    if expected is not None and len(expected) != taken:
        yield Clue(
            f"the agent took {count(taken, 'turn')} where {count(len(expected), 'turn')} "
            f"{'is' if len(expected) == 1 else 'are'} expected",
            "see why the conversation ended early, or correct the case",
            Level.PART,
        )


_NOTHING = re.compile(r"there is no (?:response|turn|sentence)|nothing to judge", re.IGNORECASE)


def nothing_to_judge(evidence: Evidence) -> Iterator[Clue]:
    """A conversation in which there is nothing that the metric looks at."""
    if not _NOTHING.search(evidence.told):
        return
    silent = [turn.number for turn in evidence.run.turns if not turn.answer.strip()]
    if silent or not evidence.run.turns:
        yield Clue(
            f"there was nothing to judge: {_reason(evidence)}",
            "see why the agent gave no final text; a tool that skips the summary leaves none",
            Level.WHOLE,
        )


def judge_unreachable(evidence: Evidence) -> Iterator[Clue]:
    """A judge that cannot be asked."""
    told = evidence.told
    if not _is_judged(evidence) or QUOTA.search(told):
        return
    if CREDENTIALS.search(told) or re.search(r"\bis not set\b", told):
        change = "set the key of the judge's provider in the environment"
    elif NO_MODEL.search(told) or re.search(r"\b404\b", told):
        change = "correct `judge_model_options.judge_model`"
    elif UNREACHABLE.search(told) or re.search(r"no answer within", told):
        change = "see whether the judge's endpoint is up; `http_options.timeout` gives slow ones more time"
    else:
        return
    yield Clue(f"the judge could not be asked: {_reason(evidence)}", change, Level.PART)


_UNUSABLE = re.compile(
    r"cannot be used|neither yes nor no|gave no verdict|without (?:text|choices|candidates)|no verdict",
    re.IGNORECASE,
)


def judge_unusable(evidence: Evidence) -> Iterator[Clue]:
    """A judge whose answer cannot be read as a verdict."""
    if _UNUSABLE.search(evidence.told) and _is_judged(evidence):
        yield Clue(
            f"the judge's answer is no verdict: {_reason(evidence)}",
            "take a stronger judge model, give it more room (`max_output_tokens` in `judge_model_config`), "
            "or ask more often (`num_samples`)",
            Level.PART,
        )


def judge_blocked(evidence: Evidence) -> Iterator[Clue]:
    """A safety filter between the question and the verdict."""
    if re.search(r"\bblocked\b|\bSAFETY\b|content.?filter", evidence.told) and _is_judged(evidence):
        yield Clue(
            f"a safety filter stopped the judge: {_reason(evidence)}",
            "allow it in `judge_model_config.safety_settings`, or take another judge model",
            Level.WHOLE,
        )


def judge_budget(evidence: Evidence) -> Iterator[Clue]:
    """The limit of judge calls."""
    if re.search(r"max.judge.calls", evidence.told):
        yield Clue(
            f"no judge call was left: {_reason(evidence)}",
            "raise `--max_judge_calls`, or run again: what was answered is in the judge cache",
            Level.WHOLE,
        )


def no_rubrics(evidence: Evidence) -> Iterator[Clue]:
    """A rubric metric without rubrics."""
    if re.search(r"no rubrics", evidence.told, re.IGNORECASE):
        yield Clue(
            f"there is no rubric to judge by: {_reason(evidence)}",
            "write `rubrics` into the metric's criterion, or rubrics of its `type` into the case",
            Level.WHOLE,
        )


def not_measured(evidence: Evidence) -> Iterator[Clue]:
    """A value that the run does not have."""
    if re.search(r"were not timed|no model reported tokens", evidence.told):
        yield Clue(
            f"there is nothing to measure: {_reason(evidence)}",
            "let the agent report it (`Event.usage_metadata` for tokens), or take the metric out of the "
            "criteria",
            Level.WHOLE,
        )


def metric_raised(evidence: Evidence) -> Iterator[Clue]:
    """A metric whose code raised."""
    error = evidence.error
    if error is None:
        return
    yield Clue(
        f"the metric raised {cut(f'{error.type}: {error.message}', 160)}",
        "mend it; `agent-eval report latest --print_detailed_results` shows the traceback",
        Level.REST,
    )


def says_nothing(evidence: Evidence) -> Iterator[Clue]:
    """A metric that did not evaluate the run and raised nothing."""
    if evidence.error is None:
        yield Clue(
            f"the metric gave no verdict: {_reason(evidence)}",
            "set `overall_eval_status` to PASSED or FAILED; NOT_EVALUATED keeps a case from passing"
            if evidence.is_custom
            else "see the run's turns with `agent-eval report latest --print_detailed_results`",
            Level.REST,
        )


def below_threshold(evidence: Evidence) -> Iterator[Clue]:
    """A score that misses its threshold, of a metric that only its author knows."""
    metric = evidence.metric
    if metric is None:
        return
    number, why = next(
        ((number, row.rationale) for number, row in evidence.failed_rows if row.rationale),
        (evidence.failed_rows[0][0] if evidence.failed_rows else None, None),
    )
    score = "no score" if metric.score is None else f"{metric.score:g}"
    threshold = "" if metric.threshold is None else f" (its threshold is {metric.threshold:g})"
    yield Clue(
        f"the metric says FAILED with {score}{threshold}" + (f": {quoted(why)}" if why else ""),
        "see in the metric's code what it asks for; a `rationale` in its rows would be shown here",
        Level.REST,
        number,
    )


NO_VERDICT = "AE505"

UNSCORED = frozenset({Kind.UNSCORED})

RULES = (
    Rule("AE501", UNSCORED, metric_raised),
    Rule("AE502", UNSCORED, unset_threshold),
    Rule("AE503", UNSCORED, metric_timeout),
    Rule("AE504", UNSCORED, no_result),
    Rule(NO_VERDICT, UNSCORED, says_nothing),
    Rule("AE506", UNSCORED, no_expected_turns),
    Rule("AE507", UNSCORED, turn_count),
    Rule("AE508", UNSCORED, nothing_to_judge),
    Rule("AE509", UNSCORED, quota),
    Rule("AE510", UNSCORED, judge_unreachable),
    Rule("AE511", UNSCORED, judge_unusable),
    Rule("AE512", UNSCORED, judge_blocked),
    Rule("AE513", UNSCORED, judge_budget),
    Rule("AE514", UNSCORED, no_rubrics),
    Rule("AE515", UNSCORED, not_measured),
    Rule("AE516", frozenset(Kind) - UNSCORED - {Kind.CRASH, Kind.USER}, below_threshold),
)
