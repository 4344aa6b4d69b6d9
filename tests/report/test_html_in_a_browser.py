"""The page as a reader has it: in headless Chromium, with the keyboard, in print, and in no time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_eval.compare.comparison import compare
from agent_eval.report.html.comparison import comparison_page
from agent_eval.report.html.result import result_page
from tests.browser import CHROMIUM, Tab, browsing
from tests.report.support import CONTROLS, NASTY, crash, expects, metric, result, run, source, turn

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here"),
]

JUDGED = {
    "metric_name": "rubric_based_final_response_quality_v1",
    "threshold": 0.8,
    "score": 0.5,
    "status": "FAILED",
    "per_invocation": [
        {
            "score": 0.5,
            "status": "FAILED",
            "rationale": "One of two.",
            "rubric_scores": [
                {"rubric_id": "polite", "rationale": "It says please.", "score": 1.0},
                {"rubric_id": "short", "rationale": "It rambles.", "score": 0.0},
            ],
        }
    ],
}
RECORDS = [
    run("passes", turn("hello", "hello there"), expected=[expects("hello there")], metrics=[metric(1.0)]),
    run(
        "refund",
        turn("refund A1", "I refunded 12 EUR.", ("refund", {"order_id": "A1", "amount": 12})),
        expected=[expects("I refunded 15 EUR.", ("refund", {"order_id": "A1", "amount": 15}))],
        metrics=[metric(0.4), JUDGED, metric(0.0, name="tool_trajectory_avg_score")],
    ),
    crash("crashes", "connection reset by peer"),
    run(f"nasty {NASTY}", turn(NASTY, NASTY + CONTROLS), expected=[expects("good")], metrics=[metric(0.0)]),
    run("flaky", turn("when?", "Monday"), metrics=[metric(1.0)]),
    run("flaky", turn("when?", "Tuesday"), metrics=[metric(0.0)], run_index=1),
]


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with browsing() as opened:
        yield opened


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "result.html"
    file.write_bytes(result_page([source(*RECORDS)]))
    return file


def texts(tab: Tab, selector: str) -> list[str]:
    found: list[str] = tab.evaluate(
        f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.textContent)"
    )
    return found


def names(tab: Tab) -> list[str]:
    return texts(tab, ".row .name")


def test_the_list_has_every_case_and_its_squares(tab: Tab, page: Path) -> None:
    tab.open(page)
    assert names(tab) == ["passes", "refund", "crashes", f"nasty {NASTY}", "flaky"]
    assert "1 of 5 cases passed" in tab.text("main")
    assert tab.evaluate("document.querySelectorAll('.row')[4].querySelectorAll('.square').length") == 2


def test_nothing_in_a_text_becomes_markup_or_runs_and_nothing_is_fetched(tab: Tab, page: Path) -> None:
    tab.events.clear()
    tab.open(page)
    tab.evaluate("document.querySelectorAll('.head').forEach((one) => one.click())")
    assert NASTY in tab.text(".row:nth-child(4)")
    assert r"\x1b[31mred" in tab.text(".row:nth-child(4)")
    assert tab.evaluate("typeof window.broken") == "undefined"
    assert tab.evaluate("document.querySelectorAll('img, iframe, .body script').length") == 0
    assert tab.complaints() == []


def test_a_case_shows_the_conversation_and_what_differs(tab: Tab, page: Path) -> None:
    tab.open(page)
    tab.click(".head", 1)
    body = tab.text(".body")
    for told in (
        "refund A1",
        "I refunded 12 EUR.",
        "AE103",
        "Change:",
        "One of two.",
        "short: no",
        "It rambles.",
    ):
        assert told in body
    assert texts(tab, ".compare del") == ["15", "15"]
    assert texts(tab, ".compare ins") == ["12", "12"]
    assert '"ok": true' not in body
    tab.click(".call summary")
    assert '"ok": true' in tab.text(".body")


def test_a_crash_shows_its_traceback(tab: Tab, page: Path) -> None:
    tab.open(page)
    tab.click(".head", 2)
    assert 'File "agent.py", line 9' in tab.text(".crash")


def test_another_run_is_a_tab_away(tab: Tab, page: Path) -> None:
    tab.open(page)
    tab.click(".head", 4)
    assert "Tuesday" in tab.text(".run")  # the run that did not pass is shown first
    tab.evaluate("document.querySelector('.tab[aria-selected=true]').focus()")
    press(tab, "ArrowLeft")
    assert "Monday" in tab.text(".run")


def press(tab: Tab, key: str) -> None:
    """Presses a key and lets it go."""
    typed = {"Enter": "\r"}.get(key, key if len(key) == 1 else None)
    down = {"text": typed} if typed else {}
    tab.send("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, **down)
    tab.send("Input.dispatchKeyEvent", type="keyUp", key=key, code=key)


def test_everything_can_be_done_with_the_keyboard(tab: Tab, page: Path) -> None:
    tab.open(page)
    press(tab, "/")
    assert tab.evaluate("document.activeElement.type") == "search"
    tab.evaluate("document.querySelector('.head').focus()")
    press(tab, "ArrowDown")
    press(tab, "Enter")
    assert "I refunded 12 EUR." in tab.text(".body")
    press(tab, "Enter")
    assert tab.evaluate("document.querySelectorAll('.body').length") == 0


@pytest.mark.parametrize(
    ("sought", "found"),
    [
        ("refund", ["refund"]),
        ("rambles", ["refund"]),
        ("connection reset", ["crashes"]),
        ("AE103", ["refund"]),
        ("<img src", [f"nasty {NASTY}"]),
        ("no such thing", []),
    ],
)
def test_a_search_finds_names_conversations_and_causes(
    tab: Tab, page: Path, sought: str, found: list[str]
) -> None:
    tab.open(page)
    tab.evaluate(
        f"const field = document.querySelector('.search'); field.value = {json.dumps(sought)};"
        "field.dispatchEvent(new Event('input'))"
    )
    tab.wait(f"document.querySelectorAll('.row').length === {len(found)}")
    assert names(tab) == found


def test_verdicts_can_be_filtered(tab: Tab, page: Path) -> None:
    tab.open(page)
    tab.click(".filter", texts(tab, ".filter").index("Flaky 1"))
    assert names(tab) == ["flaky"]
    assert "1 of 5 cases" in tab.text(".count")


def test_a_case_has_an_address(tab: Tab, page: Path) -> None:
    tab.send("Page.navigate", url="about:blank")
    tab.open(page, fragment="#case=refund")
    assert "I refunded 12 EUR." in tab.text(".body")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 380])
def test_texts_can_be_read_in_every_theme_and_width(tab: Tab, page: Path, scheme: str, width: int) -> None:
    """The contrast of every text is what WCAG asks for (AA), and nothing sticks out of the page."""
    tab.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    tab.open(page, width=width)
    tab.evaluate("document.querySelectorAll('.head').forEach((one) => one.click())")
    assert tab.evaluate(POOR_CONTRAST) == []
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


POOR_CONTRAST = """(() => {
  const parse = (colour) => (colour.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, place) => sum + c * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const colour = parse(getComputedStyle(node).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const node of document.querySelectorAll("#app *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!own || !node.checkVisibility() || node instanceof SVGElement) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${node.className || node.tagName}: ${ratio.toFixed(2)}`);
  }
  return [...new Set(poor)];
})()"""


def test_every_control_has_a_name(tab: Tab, page: Path) -> None:
    tab.send("Accessibility.enable")
    tab.open(page)
    tab.click(".head", 4)
    nodes = tab.send("Accessibility.getFullAXTree")["nodes"]
    roles = {
        "button",
        "tab",
        "searchbox",
        "combobox",
        "image",
        "img",
        "tabpanel",
        "region",
        "DisclosureTriangle",
    }
    controls = [node for node in nodes if not node["ignored"] and node["role"]["value"] in roles]
    assert len(controls) > 10
    assert [node["role"]["value"] for node in controls if not node["name"]["value"].strip()] == []


def test_the_theme_can_be_chosen(tab: Tab, page: Path) -> None:
    tab.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    tab.open(page)
    shown = []
    for _ in range(3):
        tab.click(".theme")
        shown.append((tab.text(".theme"), tab.evaluate("document.documentElement.dataset.theme")))
    assert shown == [("Theme: light", "light"), ("Theme: dark", "dark"), ("Theme: auto", "light")]


def test_a_print_has_all_cases_and_no_controls(tab: Tab, page: Path) -> None:
    tab.open(page)
    tab.send("Emulation.setEmulatedMedia", media="print")
    try:
        assert tab.evaluate("document.querySelector('.tools').checkVisibility()") is False
        assert len(names(tab)) == 5
        assert tab.send("Page.printToPDF", printBackground=True)["data"]
    finally:
        tab.send("Emulation.setEmulatedMedia", media="")


def test_a_comparison_shows_what_changed(tab: Tab, tmp_path: Path) -> None:
    before = result(*RECORDS[:3])
    after = result(run("passes", turn("hello", "no"), metrics=[metric(0.0)]), *RECORDS[1:3])
    file = tmp_path / "comparison.html"
    file.write_bytes(comparison_page([compare(before, after)]))
    tab.events.clear()
    tab.open(file)
    assert tab.text("tbody tr").split()[:2] == ["regressed", "passes"]
    assert "1 regressed, 2 unchanged" in tab.text("main")
    assert tab.evaluate(POOR_CONTRAST) == []
    assert tab.complaints() == []


OPENING_SECONDS = 2.0


def test_2000_cases_open_in_under_two_seconds(tab: Tab, tmp_path: Path) -> None:
    """From the request to a list that can be read and used, with five runs a case in the page."""
    records = [
        run(
            f"case-{number:04}",
            turn(
                "Where is my order?", f"Order {number} is shipped. " * 20, ("look_up", {"order_id": number})
            ),
            expected=[expects("Order is shipped.", ("look_up", {"id": number}))],
            metrics=[
                metric(1.0 if (number + index) % 7 else 0.2),
                metric(1.0, name="tool_trajectory_avg_score"),
            ],
            run_index=index,
        )
        for number in range(2000)
        for index in range(5)
    ]
    file = tmp_path / "large.html"
    file.write_bytes(result_page([source(*records, causes=False)]))
    seconds = []
    for _ in range(3):
        tab.send("Page.navigate", url="about:blank")
        tab.open(file)
        painted = "performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
        loaded = "performance.timing.loadEventEnd - performance.timing.navigationStart"
        seconds.append(max(tab.evaluate(painted), tab.evaluate(loaded) / 1000))
    print(f"2 000 cases, {file.stat().st_size / 1e6:.1f} MB: open after {min(seconds):.2f} s")
    assert len(names(tab)) == 2000
    assert min(seconds) < OPENING_SECONDS
    tab.click(".head", 0)
    assert "is shipped." in tab.text(".body")
