"""Numbers and texts as people read them."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from agent_eval.report.console import broken, print_line
from agent_eval.report.text import (
    against,
    call_lines,
    call_text,
    content_text,
    count,
    duration,
    number,
    printable,
    size,
)
from agent_eval.schema.trace import Blob, Content, ExecutableCode, FileData, FunctionCall, Part


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0.00"),
        (1.0, "1.00"),
        (0.5, "0.50"),
        (2 / 3, "0.67"),
        (12.5, "12.50"),
        (-0.25, "-0.25"),
        (0.0004, "4.0e-04"),
        (-1e-9, "-1.0e-09"),
    ],
)
def test_number(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("score", "threshold", "text"),
    [
        (1.0, 1.0, "1.00 / 1.00"),
        (0.93, 0.8, "0.93 / 0.80"),
        (None, 0.8, "- / 0.80"),
        (0.5, None, "0.50"),
        (0.7999, 0.8, "0.7999 / 0.80"),
        (0.996, 1.0, "0.996 / 1.00"),
        (0.99999, 1.0, "0.99999 / 1.00"),
        (0.8001, 0.8, "0.8001 / 0.80"),
    ],
)
def test_score_against_its_threshold_never_hides_on_which_side_it_is(
    score: float | None, threshold: float | None, text: str
) -> None:
    assert against(score, threshold) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ms"),
        (0.0123, "12 ms"),
        (0.75, "750 ms"),
        (1, "1.0 s"),
        (3.44, "3.4 s"),
        (60, "1 min 00 s"),
        (125, "2 min 05 s"),
        (3599, "59 min 59 s"),
        (3600, "1 h 00 min"),
        (3785, "1 h 03 min"),
        (90_000, "25 h 00 min"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("amount", "text"), [(0, "0 cases"), (1, "1 case"), (2, "2 cases"), (1000, "1000 cases")]
)
def test_count(amount: int, text: str) -> None:
    assert count(amount, "case") == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain ✓ 注文 👍", "plain ✓ 注文 👍", id="any script"),
        pytest.param("two\nlines\tand a tab", "two\nlines\tand a tab", id="line break and tab"),
        pytest.param("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m", id="colour"),
        pytest.param("\x1b]8;;http://x\x07link", r"\x1b]8;;http://x\x07link", id="link"),
        pytest.param("\x9b2J", r"\x9b2J", id="one-byte control sequence"),
        pytest.param("over\rwrite\x08", r"over\rwrite\x08", id="cursor"),
        pytest.param("\x00\x7f", r"\x00\x7f", id="nul and delete"),
        pytest.param("abc\u202edef\u2066", r"abc\u202edef\u2066", id="writing direction"),
        pytest.param("\ufeffmark", r"\ufeffmark", id="byte order mark"),
        pytest.param("half \ud83d", r"half \ud83d", id="lone surrogate"),
        pytest.param("[bold]no markup[/bold]", "[bold]no markup[/bold]", id="markup"),
    ],
)
def test_control_codes_are_spelled_out(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_printable_text_can_be_encoded_and_moves_no_cursor(text: str) -> None:
    shown = printable(text)

    shown.encode()
    assert not {character for character in shown if ord(character) < 32 and character not in "\n\t"}
    assert printable(shown) == shown


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([Part(text="a"), Part(text="b")], "a\nb"),
        ([Part(text="hm", thought=True), Part(text="b")], "b"),
        ([Part(inline_data=Blob(mime_type="image/png", data=b"x"))], "[image/png]"),
        ([Part(inline_data=Blob(data=b"x"))], "[data]"),
        ([Part(file_data=FileData(file_uri="gs://a/b"))], "[gs://a/b]"),
        ([Part(executable_code=ExecutableCode(code="1 + 1"))], "[code] 1 + 1"),
        ([Part(text="")], ""),
        (None, ""),
    ],
    ids=["texts", "thought", "picture", "data", "file", "code", "empty", "no parts"],
)
def test_content_says(parts: list[Part] | None, text: str) -> None:
    assert content_text(Content(parts=parts)) == text


def test_no_content_says_nothing() -> None:
    assert content_text(None) == ""


@pytest.mark.parametrize(
    ("args", "text", "lines"),
    [
        pytest.param(None, "f()", ["f"], id="none"),
        pytest.param({}, "f()", ["f"], id="empty"),
        pytest.param({"b": 1, "a": "x"}, 'f(a="x", b=1)', ["f", '  a: "x"', "  b: 1"], id="sorted"),
        pytest.param({"a": {"k": [None, True]}}, 'f(a={"k": [null, true]})', None, id="nested"),
        pytest.param({"a": "注文\n2"}, r'f(a="注文\n2")', None, id="own script on one line"),
    ],
)
def test_tool_call(args: dict[str, object] | None, text: str, lines: list[str] | None) -> None:
    call = FunctionCall(name="f", args=args)

    assert call_text(call) == text
    assert lines is None or call_lines(call) == lines


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (16_384, "16 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (3_440_000, "3.4 MB"),
    ],
)
def test_size(amount: int, text: str) -> None:
    assert size(amount) == text


@pytest.mark.parametrize(
    ("name", "width", "lines"),
    [
        ("short", 10, ["short"]),
        ("asks_only_for_what_is_missing", 12, ["asks_only_", "for_what_is_", "missing"]),
        ("orders/late-ones", 8, ["orders/", "late-", "ones"]),
        ("twelve_chars", 12, ["twelve_chars"]),
        ("unbreakable_name", 5, ["unbreakable_", "name"]),
        ("", 5, [""]),
    ],
)
def test_names_are_broken_between_their_words(name: str, width: int, lines: list[str]) -> None:
    assert broken(name, width).split("\n") == lines


@given(st.text(), st.integers(1, 40))
def test_broken_names_lose_nothing(name: str, width: int) -> None:
    assert broken(name, width).replace("\n", "") == name.replace("\n", "")


@pytest.mark.parametrize(("terminal", "lines"), [(True, 2), (False, 1)])
def test_lines_are_wrapped_on_a_terminal_and_whole_in_a_pipe(terminal: bool, lines: int) -> None:
    stream = StringIO()
    console = Console(file=stream, width=30, force_terminal=terminal, color_system=None)
    print_line(console, "Result: a/path/that/is/as/wide/as.json")
    assert stream.getvalue().count("\n") == lines
