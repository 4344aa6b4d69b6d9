"""The step of CI that asks for known vulnerabilities: honest where nobody answers."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

AUDIT = runpy.run_path(str(Path(__file__).parents[2] / ".ci" / "audit.py"))
TOLD, NEEDED = AUDIT["told"], AUDIT["needed"]

FINE = {"name": "rich", "version": "15.0.0", "vulns": []}
SKIPPED = {"name": "typer", "skip_reason": "Dependency not found on PyPI and could not be audited"}
BAD = {"name": "old", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1", "2.0"]}]}
TOOL = {"name": "pip", "version": "23.2", "vulns": [{"id": "PYSEC-3", "fix_versions": ["25.3"]}]}
UNFIXED = {"name": "older", "version": "0.1", "vulns": [{"id": "PYSEC-2", "fix_versions": []}]}


@pytest.mark.parametrize(
    ("packages", "code", "lines"),
    [
        pytest.param([FINE, SKIPPED], 0, ["1 of 2 packages audited, no known vulnerability"], id="none"),
        pytest.param(
            [FINE, BAD, UNFIXED, SKIPPED],
            1,
            [
                "old 1.0: PYSEC-1, fixed in 1.1, 2.0",
                "older 0.1: PYSEC-2, fixed in no version",
                "3 of 4 packages audited, 2 known vulnerabilities, 1 that users would get and need not",
            ],
            id="some",
        ),
        pytest.param(
            [FINE, TOOL, UNFIXED],
            0,
            [
                "pip 23.2: PYSEC-3, fixed in 25.3",
                "older 0.1: PYSEC-2, fixed in no version",
                "3 of 3 packages audited, 2 known vulnerabilities, 0 that users would get and need not",
            ],
            id="of tools, or without a remedy",
        ),
        pytest.param(
            [SKIPPED, SKIPPED],
            0,
            ["NOT AUDITED: the advisory service knows none of the 2 packages"],
            id="unknown",
        ),
    ],
)
def test_report_is_told(packages: list[dict[str, Any]], code: int, lines: list[str]) -> None:
    assert TOLD({"dependencies": packages}, {"rich", "old", "older"}) == (code, lines)


def test_service_that_cannot_be_reached_is_told_and_fails_nothing() -> None:
    code, (line,) = TOLD(None, (), "Traceback\nConnectionError: cannot reach api.osv.dev\n")
    assert code == 0
    assert (
        line
        == "NOT AUDITED: the advisory service could not be asked: ConnectionError: cannot reach api.osv.dev"
    )


def test_users_get_what_is_needed_to_run_and_no_tools() -> None:
    found = NEEDED("adk-agent-eval")
    assert {"adk-agent-eval", "typer", "pydantic", "pydantic-core", "google-genai"} <= found
    assert not {"pytest", "mypy", "ruff", "pip"} & found
