"""The Python of docs/api.md and docs/pytest.md is run."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli_support import RESPONSES, Project, case, eval_set

pytestmark = pytest.mark.usefixtures("own_imports")

DOCS = Path(__file__).parents[1] / "docs"


def block(page: str, number: int) -> dict[str, Any]:
    """What a block of a page defines, once it was run."""
    text = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)[number]
    names: dict[str, Any] = {}
    exec(text.replace("@pytest.mark.asyncio\n", ""), names)
    return names


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(project.root)
    project.agent(path="my_agent")
    for path in ("orders.evalset.json", "evalsets/orders.evalset.json", "tests/orders.test.json"):
        project.write(path, eval_set(case("refund"), case("cancel"), eval_set_id="orders"))
        project.write(str(Path(path).parent / "eval_config.json"), RESPONSES)
    return project


@pytest.mark.usefixtures("here")
def test_evaluate(capsys: pytest.CaptureFixture[str]) -> None:
    block("api.md", 0)
    assert capsys.readouterr().out == "True 2 2\n"


@pytest.mark.usefixtures("here")
def test_evaluate_async(capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(block("api.md", 1)["main"]("my_agent", "orders.evalset.json"))
    assert capsys.readouterr().out.startswith("refund PASSED 1.0 (0.5")


def test_a_test_of_ones_own(here: Project) -> None:
    block("pytest.md", 0)["test_orders"]()
    assert here.case("refund")["attempts"] == 5


def test_a_test_written_for_adk(here: Project) -> None:
    asyncio.run(block("pytest.md", 1)["test_orders"]())
    assert here.case("refund")["attempts"] == 3
