"""Renews the captures in docs/*.md: what commands print at 80 columns, from real runs of the samples.

    python docs/capture.py

Times and result ids, which differ from run to run, are replaced by fixed ones.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

FLAKY = ["run", "--evalset", "sample_agents/forgetful_order_desk/orders.evalset.json"]


def steady(text: str) -> str:
    """The text without what differs from run to run; columns stay where they are."""
    text = re.sub(r"\d{8}T\d{9}Z-[0-9a-f]{8}", "20260131T093000000Z-1a2b3c4d", text)
    text = re.sub(
        r" +(\d+ ms|[\d.]+ s)$", lambda match: "12 ms".rjust(len(match[0])), text, flags=re.MULTILINE
    )
    text = re.sub(r"\((\d+ ms|[\d.]+ s)\)", "(50 ms)", text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def captured(arguments: list[str], output: str) -> str:
    """A command and what it prints, with its results in `output`."""
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-m", "agent_eval", *arguments],
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    shown = " ".join(argument for argument in arguments if argument not in ("--output", output))
    text = f"$ agent-eval {shown}\n{done.stdout}$ echo $?\n{done.returncode}\n"
    return steady(text.replace(output, ".agent_eval/results"))


def results(output: str) -> list[str]:
    """The summaries in a results folder, oldest first."""
    return sorted(str(path) for path in Path(output).glob("orders/*Z-*.json"))


def captures() -> dict[str, str]:
    """Each capture by its name."""
    with tempfile.TemporaryDirectory() as output:
        lucky = captured([*FLAKY, "--num_runs", "1", "--output", output], output)
        flaky = captured([*FLAKY, "--output", output], output)
        comparison = captured(["compare", *results(output)], output)
    return {"lucky_run": lucky, "five_runs": flaky, "compare": comparison}


def with_captures(page: str, texts: dict[str, str]) -> str:
    """A page with the block after each `<!-- capture: name -->` renewed."""

    def block(match: re.Match[str]) -> str:
        return f"<!-- capture: {match[1]} -->\n```\n{texts[match[1]]}```\n"

    return re.sub(
        r"<!-- capture: (\w+) -->\n(?:```\n.*?^```\n)?", block, page, flags=re.DOTALL | re.MULTILINE
    )


if __name__ == "__main__":
    texts = captures()
    for page in PAGES:
        page.write_text(with_captures(page.read_text(encoding="utf-8"), texts), encoding="utf-8")
