"""Renews docs/troubleshooting.md: the long forms of all causes, in the order of their codes.

python docs/troubleshooting.py
"""

from __future__ import annotations

import re
from pathlib import Path

from agent_eval.codes.catalogue import topics

PAGE = Path(__file__).parent / "troubleshooting.md"

GROUPS = {
    "AE1": "Tool calls",
    "AE2": "Answers",
    "AE3": "Judges",
    "AE4": "Crashes",
    "AE5": "Metrics without a score, and metrics of your own",
    "AE6": "Several runs, several cases",
}

HEAD = """\
# Troubleshooting

Why a case did not pass, by the codes that reports and summaries name. `agent-eval explain AE101`
prints one of these, `agent-eval explain RESULT [--case ID]` finds the causes of a stored result anew.

A cause says what was seen in the records, with the values, and what to change. What was seen is so;
whether it is the reason, you judge. The most likely comes first.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for prefix, group in GROUPS.items():
        found = [topic for topic in topics() if topic.code.startswith(prefix)]
        rows = [f"| [{topic.code}](#{anchor(topic.code, topic.name)}) | {topic.title} |" for topic in found]
        parts += [f"\n## {group}\n\n| code | cause |\n|---|---|\n" + "\n".join(rows) + "\n"]
        parts += ["\n" + re.sub(r"^# ", "### ", topic.text) for topic in found]
    return "".join(parts)


def anchor(code: str, name: str) -> str:
    """The anchor of a section."""
    return f"{code}-{name}".lower()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
