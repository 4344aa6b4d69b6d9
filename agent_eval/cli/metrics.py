"""`agent-eval metrics`: every metric there is."""

from __future__ import annotations

from typing import Any

from agent_eval.cli.options import DebugFlag, JsonFlag
from agent_eval.cli.output import Output
from agent_eval.errors import ExitCode

EPILOG = """Examples:

agent-eval metrics

agent-eval metrics --json | jq -r '.metrics[].metric_name'"""


def metrics(
    json_output: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """List all metrics: their range, which scores are better, and what they need."""
    with Output(json=json_output, debug=debug) as out:
        listed = _listed()
        if json_output:
            out.json({"metrics": listed})
        from agent_eval.report.metrics import print_metrics

        print_metrics(out.report, listed)
        out.exit(ExitCode.PASSED)


def _listed() -> list[dict[str, Any]]:
    from agent_eval.metrics.builtin import BUILT_IN
    from agent_eval.metrics.registry import DEFAULT_REGISTRY

    registry = DEFAULT_REGISTRY.fork()
    registry.load_installed()
    built_in = {metric.info.metric_name for metric in BUILT_IN}
    return [
        {
            **metric.info.model_dump(mode="json", by_alias=False),
            "needs": [
                need
                for need, wanted in (
                    ("reference", metric.needs_reference),
                    ("judge", metric.needs_judge),
                    ("scenario", metric.needs_scenario),
                )
                if wanted
            ],
            "options": [
                name for name in metric.criterion_type.model_fields if name not in ("threshold", _SHARED)
            ],
            "source": "built in" if metric.info.metric_name in built_in else "installed",
        }
        for metric in registry.metrics()
    ]


_SHARED = "include_intermediate_responses_in_final"
"""An option that every criterion has."""
