"""Files of labels."""

from __future__ import annotations

import json

import pytest

from agent_eval.errors import InputError
from agent_eval.inputs.labels import Verdict, parse_labels


@pytest.mark.parametrize("broken", ["\u2028", "\u2029", "\x85", "\x0b", "\x1c"], ids=ascii)
def test_text_with_a_break_of_another_kind_stays_on_its_line(broken: str) -> None:
    rows = [{"eval_id": name, "label": "pass", "response": f"a{broken}b"} for name in ("one", "two")]
    text = "\n".join(json.dumps(row, ensure_ascii=ord(broken) < 0x20) for row in rows) + "\r\n"
    labels = parse_labels(text, "labels.jsonl")
    assert [(label.eval_id, label.response, label.label) for label in labels] == [
        (name, [f"a{broken}b"], Verdict.PASS) for name in ("one", "two")
    ]


def test_of_a_long_file_the_first_mistake_is_told() -> None:
    with pytest.raises(InputError) as caught:
        parse_labels(json.dumps([1] * 100_000), "labels.json")
    assert [problem.path for problem in caught.value.problems] == ["[0]"]
