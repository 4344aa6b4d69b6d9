"""Texts of agents, judges and files in every output: they are shown, and do nothing."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from agent_eval.agent_evaluator import _write_csv
from agent_eval.compare.comparison import Comparison, compare
from agent_eval.report.causes import print_explanation
from agent_eval.report.comparison import print_comparison
from agent_eval.report.comparison_markdown import comparison_markdown
from agent_eval.report.console import print_evidence, print_result, print_totals
from agent_eval.report.failures import failure_text, print_details, print_failures
from agent_eval.report.history import print_history
from agent_eval.report.html.comparison import comparison_page
from agent_eval.report.html.result import Source, result_page
from agent_eval.report.junit import junit_xml
from agent_eval.report.markdown import markdown
from agent_eval.report.places import Located, code_quality, github_annotations
from agent_eval.schema.result import EvalResult, RunRecord
from agent_eval.stored import Stored
from tests.cli_support import Project, case, eval_set
from tests.fuzz.hostile import CONTROL_CODES, MARKUP, PATHS
from tests.report.support import crash, expects, metric, result, run, turn
from tests.report.test_html import Page

UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""What moves a cursor, colours, rings, turns the writing direction, or is no text."""

HOSTILE = CONTROL_CODES | MARKUP | PATHS
HARMLESS = "harmless"
EVERY_TEXT = [pytest.param(text, id=name) for name, text in HOSTILE.items()]


def records(text: str) -> list[RunRecord]:
    """Runs that have the text wherever somebody else writes."""
    played = turn(text, text, (text, {text: text}), result={text: text})
    rows = [{"score": 0.1, "status": "FAILED", "rationale": text}]
    wanted = [expects(f"{text} x", (f"{text} x", {text: [text]}))]
    judged = metric(0.1, text, per_invocation=rows)
    unscored = metric(
        None, f"{text} y", reason=text, error={"type": text, "message": text, "traceback": text}
    )
    return [
        run(f"fails {text}", played, metrics=[judged, metric(0.1)], expected=wanted),
        run(f"unscored {text}", played, metrics=[unscored]),
        run(f"passes {text}", played, metrics=[metric(1.0, text)]),
        crash(f"crashes {text}", text),
    ]


def of(text: str) -> tuple[EvalResult, list[RunRecord]]:
    found = records(text)
    whole = result(*found, eval_set_id=text)
    agent = whole.agent.model_copy(update={"name": text, "reference": text})
    return whole.model_copy(update={"agent": agent, "stopped": text}), found


def compared(text: str) -> Comparison:
    whole, _ = of(text)
    cases = [one.model_copy(update={"sha256": text}) for one in reversed(whole.cases)]
    return compare(whole, whole.model_copy(update={"cases": cases[1:]}))


Printer = Callable[[Console, str], object]
PRINTERS: dict[str, Printer] = {
    "result": lambda console, text: print_result(console, of(text)[0]),
    "totals": lambda console, text: print_totals(console, [of(text)[0]]),
    "evidence": lambda console, text: print_evidence(console, of(text)[0].cases),
    "failures": lambda console, text: print_failures(console, *of(text)),
    "details": lambda console, text: print_details(console, of(text)[1]),
    "failures of tests": lambda console, text: console.file.write(failure_text(*of(text))),
    "explanation": lambda console, text: print_explanation(console, of(text)[0], of(text)[0].cases),
    "history": lambda console, text: print_history(console, [of(text)[0], of(text)[0]]),
    "comparison": lambda console, text: print_comparison(console, compared(text)),
}


@pytest.mark.parametrize("text", EVERY_TEXT)
@pytest.mark.parametrize("printer", PRINTERS.values(), ids=PRINTERS)
def test_terminal_gets_no_control_codes(printer: Printer, text: str) -> None:
    stream = io.StringIO()
    printer(
        Console(file=stream, width=100, color_system=None, highlight=False, markup=False, emoji=False), text
    )
    assert stream.getvalue()
    assert not UNSAFE.search(stream.getvalue())


def _tags(elements: list[str]) -> list[str]:
    return [tag for tag in elements if tag not in ("br", "p")]


@pytest.mark.parametrize("text", EVERY_TEXT)
def test_html_has_the_elements_that_it_has_without(text: str) -> None:
    for page in (_result_page, _comparison_page):
        assert Page(page(text)).tags == Page(page(HARMLESS)).tags
        assert b"\x1b" not in page(text)


def _result_page(text: str) -> bytes:
    whole, found = of(text)
    return result_page([Source(whole, lambda: iter(found), "journal")])


def _comparison_page(text: str) -> bytes:
    return comparison_page([compared(text)])


@pytest.mark.parametrize("text", EVERY_TEXT)
def test_junit_has_the_elements_that_it_has_without(text: str) -> None:
    def shape(text: str) -> list[tuple[str, list[str]]]:
        root = ElementTree.fromstring(junit_xml([of(text)[0]]))
        return [(element.tag, sorted(element.attrib)) for element in root.iter()]

    assert shape(text) == shape(HARMLESS)
    assert not UNSAFE.search(junit_xml([of(text)[0]]).decode())


@pytest.mark.parametrize("text", EVERY_TEXT)
def test_markdown_has_no_markup_of_others(text: str) -> None:
    for made in (markdown([of(text)[0]]), comparison_markdown([compared(text)])):
        assert not UNSAFE.search(made)
        page = MarkdownIt("gfm-like", {"linkify": False}).render(made)
        allowed = {"h2", "h3", "p", "ul", "li", "strong", "em", "br", "details", "summary", "code", "hr"}
        allowed |= {"table", "thead", "tbody", "tr", "th", "td", "pre"}
        assert set(re.findall(r"<([a-zA-Z!]\w*)", page)) <= allowed
        assert not re.findall(r"@\w", made)


@pytest.mark.parametrize("text", EVERY_TEXT)
def test_workflow_commands_are_ours_alone(text: str) -> None:
    located = [Located(of(text)[0], "evalsets/desk.evalset.json", {})]
    commands = list(github_annotations(located))
    assert len(commands) == len(list(github_annotations([Located(of(HARMLESS)[0], "x", {})])))
    for command in commands:
        assert re.fullmatch(r"::(error|warning) file=[^,:]*,line=1,title=[^,:\r\n]*::[^\r\n]*", command)
        assert not UNSAFE.search(command)
    assert not UNSAFE.search(json.dumps(code_quality(located), ensure_ascii=False))


FORMULAS = ("=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", MARKUP["formula"])


@pytest.mark.parametrize("text", [*EVERY_TEXT, *FORMULAS])
def test_cell_of_csv_is_no_formula_and_stays_in_its_row(text: str, tmp_path: Path) -> None:
    found = records(text)
    whole = result(*found, eval_set_id=text)
    file = tmp_path / "rows.csv"
    _write_csv(str(file), Stored(whole, tmp_path / "x.json", kept=tuple(found)))
    rows = list(csv.reader(io.StringIO(file.read_text(encoding="utf-8"), newline="")))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert len(rows) == 5
    for cell in (cell for row in rows[1:] for cell in row):
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
        assert not UNSAFE.search(cell)


# Real processes


def _hostile_files(project: Project) -> Iterator[tuple[str, ...]]:
    """Files whose names and contents are hostile, and the commands that tell of them."""
    text = "".join(CONTROL_CODES.values()).replace("\x00", "").replace("\ud83d", "")
    name = "a\x1b[31m\x9b2J\u202eb"
    file = project.write(f"{name}.evalset.json", eval_set(case(text), case("b", text), eval_set_id=text)).name
    bad = project.write(f"bad{name}.evalset.json", {text: 1, "eval_cases": [{text: text}]}).name
    config = project.write(f"{name}.json", {"criteria": {text: 1.0}}).name
    labels = project.write(f"{name}.labels.json", [{"eval_id": text, "label": text}]).name
    project.write(
        "eval_config.json", {"criteria": {"response_match_score": 0.5, "tool_trajectory_avg_score": 1}}
    )
    project.agent(f"def root_agent(message, session):\n    raise ValueError({text!r})\n")
    yield "run", "bot", file, "--print_detailed_results"
    yield "run", "bot", file, "--case", text
    yield "run", "bot", file, "--dry_run"
    yield "run", "bot", bad
    yield "run", "bot", f"no{name}.evalset.json"
    yield "run", f"no{name}", file
    yield "run", "bot", file, "--config", config
    yield "report", "latest"
    yield "report", bad
    yield "explain", "latest"
    yield "compare", "previous", "latest"
    yield "compare", "latest", file
    yield "history", text
    yield "history"
    yield "lint", file, bad, config
    yield "judge", "check", file, "--labels", labels
    yield "judge", "show", file, "--case", text
    yield "grade", "latest", "--config", config
    yield "baseline", "set", "latest"
    yield "baseline", "show", "latest"


@pytest.mark.slow
def test_no_command_prints_a_control_code_of_others(project: Project) -> None:
    for arguments in _hostile_files(project):
        outcome = project.agent_eval(*arguments)
        assert "bug in agent-eval" not in outcome.stderr, (arguments, outcome)
        assert not UNSAFE.search(outcome.stdout + outcome.stderr), (arguments, outcome)
