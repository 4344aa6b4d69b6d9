"""`python -m tests.conformance [DIR]`: exit 0 if every item passes, 1 if any differs, 2 without vectors."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.conformance.groups import GROUPS
from tests.conformance.runner import DIFFERENCES, OWN_VECTORS, FileReport, check_file

LINE = 200
"""Longer lines are cut."""


def main(folder: Path) -> int:
    """Checks the vectors in a folder and prints what came of each file."""
    there = {path.name for path in folder.glob("*.json")} - {DIFFERENCES}
    reports = [check_file(folder, name) for name in GROUPS if name in there]
    for report in reports:
        _print(report)
    _print_names("not checked", sorted(there - GROUPS.keys()))
    _print_names("not there", [name for name in GROUPS if name not in there])
    if not reports:
        print(f"no vectors in {folder}")
        return 2
    return int(any(report.failures for report in reports))


def _print(report: FileReport) -> None:
    print(f"{report.name}: {report.passed} passed, {len(report.failures)} failed")
    for item_id, found in report.failures.items():
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        print(_shown(f"  {item_id}{more}: {found[0]}"))
    if report.by_unnamed_rule:
        named = ", ".join(f"{item_id} ({', '.join(r)})" for item_id, r in report.by_unnamed_rule.items())
        print(f"  by a rule that {DIFFERENCES} does not name: {named}")


def _print_names(title: str, names: list[str]) -> None:
    if names:
        print(f"{title}: {', '.join(names)}")


def _shown(line: str) -> str:
    """A line that any terminal can show."""
    line = line.replace("\n", " ").encode("ascii", "backslashreplace").decode()
    return line if len(line) <= LINE else line[: LINE - 3] + "..."


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else OWN_VECTORS))
