"""Asks for known vulnerabilities of what is installed here: 1 if there are some that users would get.

Those are in what agent-eval needs to run, where a version without them is out. What else is found, in
pip or in tools of the tests, is told.

pip-audit ends well when it could ask about nothing at all, and with an error where the service cannot
be reached. Both are told as what they are, and neither fails: no answer says nothing about packages.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

COMMAND = ("-m", "pip_audit", "--format", "json", "--progress-spinner", "off", "--skip-editable")


def needed(name: str) -> set[str]:
    """A distribution and all that it needs to run here, without extras."""
    found: set[str] = set()
    left = [name]
    while left:
        one = canonicalize_name(left.pop())
        if one in found:
            continue
        found.add(one)
        with suppress(PackageNotFoundError):
            requirements = map(Requirement, requires(one) or [])
            left += [it.name for it in requirements if it.marker is None or it.marker.evaluate({"extra": ""})]
    return found


def told(report: Any, users_get: Collection[str], error: str = "") -> tuple[int, list[str]]:
    """The exit code and the lines for a report of pip-audit; None for one that it did not write."""
    if report is None:
        last = error.strip().splitlines()[-1:] or ["it said nothing"]
        return 0, [f"NOT AUDITED: the advisory service could not be asked: {last[0][:300]}"]
    packages = report["dependencies"]
    asked = [one for one in packages if "skip_reason" not in one]
    found = [(one, hole) for one in asked for hole in one["vulns"]]
    bad = [one for one, hole in found if hole["fix_versions"] and canonicalize_name(one["name"]) in users_get]
    lines = [
        f"{one['name']} {one['version']}: {hole['id']}, fixed in "
        + (", ".join(hole["fix_versions"]) or "no version")
        for one, hole in found
    ]
    known = f"{len(asked)} of {len(packages)} packages audited"
    if lines:
        count = f"{len(lines)} known vulnerabilities, {len(bad)} that users would get and need not"
        return int(bool(bad)), [*lines, f"{known}, {count}"]
    if not asked:
        return 0, [f"NOT AUDITED: the advisory service knows none of the {len(packages)} packages"]
    return 0, [f"{known}, no known vulnerability"]


def main() -> int:
    """Runs pip-audit, and tells what came of it."""
    if find_spec("pip_audit") is None:
        print("pip-audit is not installed")
        return 1
    command = [sys.executable, *COMMAND]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        report = None
    code, lines = told(report, needed("adk-agent-eval"), done.stderr)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
