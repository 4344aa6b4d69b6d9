"""Asks for known vulnerabilities of what is installed here: 1 if there are some.

pip-audit ends well when it could ask about nothing at all, and with an error where the service cannot be
reached. Both are told as what they are, and neither fails: no answer says nothing about the packages.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

COMMAND = ("-m", "pip_audit", "--format", "json", "--progress-spinner", "off", "--skip-editable")


def told(report: Any, error: str = "") -> tuple[int, list[str]]:
    """The exit code and the lines for a report of pip-audit; None for one that it did not write."""
    if report is None:
        last = error.strip().splitlines()[-1:] or ["it said nothing"]
        return 0, [f"NOT AUDITED: the advisory service could not be asked: {last[0][:300]}"]
    packages = report["dependencies"]
    asked = [one for one in packages if "skip_reason" not in one]
    lines = [
        f"{one['name']} {one['version']}: {found['id']}, fixed in "
        + (", ".join(found["fix_versions"]) or "no version")
        for one in asked
        for found in one["vulns"]
    ]
    known = f"{len(asked)} of {len(packages)} packages audited"
    if lines:
        return 1, [*lines, f"{known}, {len(lines)} known vulnerabilities"]
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
    code, lines = told(report, done.stderr)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
