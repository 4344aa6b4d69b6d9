"""`agent-eval cache`: what the judge cache holds, and emptying it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_eval.cli.options import DebugFlag, JsonFlag
from agent_eval.cli.output import Output
from agent_eval.errors import ExitCode

if TYPE_CHECKING:
    from agent_eval.judge.cache import CacheStats


def stats(json_output: JsonFlag = False, debug: DebugFlag = False) -> None:
    """Tell how many answers the judge cache holds."""
    with Output(json=json_output, debug=debug) as out:
        from agent_eval.judge import cache

        _tell(cache.stats(), "", out)


def clear(json_output: JsonFlag = False, debug: DebugFlag = False) -> None:
    """Empty the judge cache, so that judges are asked anew."""
    with Output(json=json_output, debug=debug) as out:
        from agent_eval.judge import cache

        _tell(cache.clear(), " removed", out)


def _tell(held: CacheStats, what: str, out: Output) -> None:
    from agent_eval.judge.cache import DEFAULT_PATH

    if out.is_json:
        out.json(_document(held))
    else:
        from agent_eval.report.console import print_line
        from agent_eval.report.text import count, size

        answers = count(held.entries, "answer") + what
        age = f", from {_minute(held.oldest)} to {_minute(held.newest)} UTC" if held.entries else ""
        print_line(out.report, f"{DEFAULT_PATH}: {answers}, {size(held.bytes)}{age}")
    out.exit(ExitCode.PASSED)


def _document(held: CacheStats) -> dict[str, Any]:
    from agent_eval.judge.cache import DEFAULT_PATH

    return {
        "path": str(DEFAULT_PATH),
        "entries": held.entries,
        "bytes": held.bytes,
        "oldest": _when(held.oldest),
        "newest": _when(held.newest),
    }


def _minute(moment: float | None) -> str:
    """`2026-01-31 09:30`."""
    return (_when(moment) or "")[:16].replace("T", " ")


def _when(moment: float | None) -> str | None:
    from agent_eval import clock

    return None if moment is None else clock.timestamp(moment)
