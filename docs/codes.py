"""Renews the pages of codes from their long forms: troubleshooting.md, and the end of lint.md.

python docs/codes.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from agent_eval.codes.catalogue import Topic, topics

DOCS = Path(__file__).parent

MARK = "<!-- codes: written by docs/codes.py -->\n"

CAUSES = {
    "AE1": "Tool calls",
    "AE2": "Answers",
    "AE3": "Judges",
    "AE4": "Crashes",
    "AE5": "Metrics without a score, and metrics of your own",
    "AE6": "Several runs, several cases",
}

FINDINGS = {
    "AE70": "Files",
    "AE71": "Eval sets",
    "AE72": "Eval sets and agents",
    "AE73": "Configs",
    "AE74": "Eval sets under their config",
}


def with_codes(page: str, groups: dict[str, str]) -> str:
    """A page with the codes of these groups after its mark."""
    head = page.partition(MARK)[0]
    return head + MARK + "".join(_group(title, _of(prefix)) for prefix, title in groups.items())


def _of(prefix: str) -> list[Topic]:
    return [topic for topic in topics() if topic.code.startswith(prefix)]


def _group(title: str, found: Iterable[Topic]) -> str:
    found = list(found)
    rows = [f"| [{topic.code}](#{topic.code.lower()}-{topic.name}) | {topic.title} |" for topic in found]
    table = "| code | meaning |\n|---|---|\n" + "\n".join(rows) + "\n"
    sections = ["\n" + re.sub(r"^# ", "### ", topic.text) for topic in found]
    return f"\n## {title}\n\n{table}{''.join(sections)}"


PAGES = {DOCS / "troubleshooting.md": CAUSES, DOCS / "lint.md": FINDINGS}


if __name__ == "__main__":
    for page, groups in PAGES.items():
        page.write_text(with_codes(page.read_text(encoding="utf-8"), groups), encoding="utf-8")
