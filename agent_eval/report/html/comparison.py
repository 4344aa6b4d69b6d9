"""The page of a comparison: the goalposts before any score, then the cases, regressions first."""

from __future__ import annotations

from agent_eval.compare.comparison import CaseChange, Comparison
from agent_eval.printable import printable
from agent_eval.report.html.page import block, embedded, page
from agent_eval.report.html.runs import Data, clipped


def comparison_page(comparison: Comparison) -> bytes:
    """One page with everything that changed."""
    data = {
        "baseline": printable(comparison.baseline),
        "candidate": printable(comparison.candidate),
        "goalposts": [
            {"what": clipped(one.what), "before": clipped(one.before), "after": clipped(one.after)}
            for one in comparison.goalposts
        ],
        "counts": [[change.value, amount] for change, amount in comparison.counts.items()],
        "cases": [_case(case) for case in comparison.cases],
    }
    title = f"{comparison.baseline} and {comparison.candidate}: agent-eval"
    return page(title, [block("index", embedded(data))], "comparison.js")


def _case(case: CaseChange) -> Data:
    return {
        "id": printable(case.eval_id),
        "change": case.change.value,
        "verdicts": [verdict.value if verdict else None for verdict in (case.before, case.after)],
        "rates": [case.pass_rate_before, case.pass_rate_after],
        "runs": [case.runs_before, case.runs_after],
        "withinNoise": case.within_noise,
        "edited": case.case_changed,
        "scores": [
            {
                "name": printable(score.metric_name),
                "before": score.before,
                "after": score.after,
                "delta": score.delta,
            }
            for score in case.scores
        ],
    }
