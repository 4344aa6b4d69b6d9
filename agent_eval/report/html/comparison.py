"""The page of a comparison: the goalposts before any score, then the cases, regressions first."""

from __future__ import annotations

from collections.abc import Sequence

from agent_eval.compare.comparison import CaseChange, Change, Comparison
from agent_eval.printable import printable
from agent_eval.report.comparison import conditions, noise_texts, suite_lines
from agent_eval.report.html.page import block, embedded, page
from agent_eval.report.html.runs import Data, clipped

ARROW = "→"


def comparison_page(comparisons: Sequence[Comparison]) -> bytes:
    """One page with everything that changed."""
    data = {
        "comparisons": [
            {
                "evalSet": printable(one.eval_set_id),
                "baseline": printable(one.baseline),
                "candidate": printable(one.candidate),
                "goalposts": [
                    {"what": clipped(post.what), "before": clipped(post.before), "after": clipped(post.after)}
                    for post in one.goalposts
                ],
                "conditions": [clipped(line) for line in conditions(one)],
                "suite": [clipped(line) for line in suite_lines(one.suite, ARROW)],
                "dropped": one.suite.has_dropped,
            }
            for one in comparisons
        ],
        "changes": [change.value for change in Change],
        "cases": [_case(number, case) for number, one in enumerate(comparisons) for case in one.cases],
    }
    title = ", ".join(f"{one.baseline} and {one.candidate}" for one in comparisons)
    return page(f"{title}: agent-eval", [block("index", embedded(data))], "comparison.js")


def _case(number: int, case: CaseChange) -> Data:
    return {
        "comparison": number,
        "id": printable(case.eval_id),
        "change": case.change.value,
        "verdicts": [verdict.value if verdict else None for verdict in (case.before, case.after)],
        "rates": [case.pass_rate_before, case.pass_rate_after],
        "runs": [case.runs_before, case.runs_after],
        "worth": list(noise_texts(case)),
        "note": clipped(case.note) if case.note else None,
        "edited": case.case_changed,
        "scores": [
            {
                "name": printable(score.metric_name),
                "before": score.before,
                "after": score.after,
                "delta": score.delta,
                "worse": score.worse,
            }
            for score in case.scores
        ],
    }
