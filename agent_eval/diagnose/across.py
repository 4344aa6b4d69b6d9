"""What only several runs or cases together show (AE302, AE601, AE602)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_eval.diagnose.wording import count, listed, named, value
from agent_eval.schema.result import CaseMetric, CaseResult, Cause, EvalResult
from agent_eval.schema.trace import EvalStatus

MOVES = "AE601"
ALIKE = "AE602"
EVERYWHERE = "AE302"

FEWEST_CASES = 3
"""With fewer cases than these, failing alike is no pattern."""

_SAY_LITTLE = ("AE213", "AE306", "AE413", "AE501", "AE516")
"""Codes under which cases fail alike only if the very same was seen."""


def moving_score(case: CaseResult, metric: CaseMetric) -> Cause | None:
    """A metric that passed in some runs of a case and failed in others."""
    statuses = [
        run.metrics[metric.metric_name].status for run in case.runs if metric.metric_name in run.metrics
    ]
    passed, failed = statuses.count(EvalStatus.PASSED), statuses.count(EvalStatus.FAILED)
    if not passed or not failed:
        return None
    scores = [value(None if score is None else round(score, 2)) for score in metric.per_run]
    return Cause(
        code=MOVES,
        seen=f"the score moves from run to run: {listed(scores, 10)}; "
        f"{passed} of {passed + failed} runs passed",
        change="set the model's temperature to 0, and keep still what else varies (mocks, data, times); if "
        "only the wording varies, take a metric that reads meanings or rubrics; more runs tell how often it "
        "fails",
    )


def rubric_everywhere(rubric_id: str, verdicts: dict[str, tuple[int, int]]) -> Cause | None:
    """A rubric that holds in no run of any case.

    Args:
        rubric_id: of the rubric.
        verdicts: of each case that has it: in how many runs it failed, and was judged.
    """
    if len(verdicts) < 2 or any(failed < judged for failed, judged in verdicts.values()):
        return None
    return Cause(
        code=EVERYWHERE,
        seen=f"rubric `{rubric_id}` holds in none of the {len(verdicts)} cases that are judged by it",
        change="it is not the cases: say in the agent's instruction what the rubric asks for, or word the "
        "rubric so that the judge can see it in the conversation",
    )


def elsewhere(verdicts: dict[str, tuple[int, int]], eval_id: str) -> str:
    """How a rubric does in the other cases, as the end of a sentence."""
    others = [failed for case, (failed, _) in verdicts.items() if case != eval_id]
    if not others:
        return ""
    holds = sum(failed == 0 for failed in others)
    return f"; it holds in {holds} of the {count(len(others), 'other case')}"


def every_case(result: EvalResult) -> Iterator[Cause]:
    """What all cases of a result fail at alike."""
    cases = result.cases
    if len(cases) < FEWEST_CASES:
        return
    crashed = [case.causes[:1] for case in cases if case.crashed == case.attempts]
    if len(crashed) == len(cases):
        yield from _alike("the agent crashes", crashed)
        return
    for metric in cases[0].metrics:
        name = metric.metric_name
        found = [one for case in cases for one in case.metrics if one.metric_name == name]
        bad = [one for one in found if one.status in (EvalStatus.FAILED, EvalStatus.NOT_EVALUATED)]
        if len(bad) == len(cases) and len({one.status for one in bad}) == 1:
            what = "fails" if bad[0].status is EvalStatus.FAILED else "has no score"
            yield from _alike(f"`{name}` {what}", [one.causes[:1] for one in bad])


def _alike(what: str, firsts: Sequence[list[Cause]]) -> Iterator[Cause]:
    causes = [cause for first in firsts for cause in first]
    codes = {cause.code for cause in causes}
    if len(causes) < len(firsts) or len(codes) > 1 or codes == {MOVES}:
        return
    if codes & set(_SAY_LITTLE) and len({cause.seen for cause in causes}) > 1:
        return
    yield Cause(
        code=ALIKE,
        seen=f"{what} in all {len(firsts)} cases in the same way, {named(codes)}: {causes[0].seen}",
        change="look at what the cases share before looking at any of them: the agent's instruction and "
        f"tools, the config, the metric; then: {causes[0].change}",
    )
