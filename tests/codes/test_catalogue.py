"""The codes, their long forms, and the page that is made of them."""

from __future__ import annotations

import importlib.util
from importlib.resources import files
from pathlib import Path

import pytest

from agent_eval.codes.catalogue import Topic, near_misses, topic_of, topics
from agent_eval.diagnose import across
from agent_eval.diagnose.rules import RULES

ROOT = Path(__file__).parents[2]


TOPICS = topics()


def test_codes_and_names_are_unique() -> None:
    assert len({topic.code for topic in TOPICS}) == len({topic.name for topic in TOPICS}) == len(TOPICS)


def test_every_rule_has_a_long_form_and_every_long_form_of_a_cause_a_rule() -> None:
    codes = [*(rule.code for rule in RULES), across.MOVES, across.ALIKE, across.EVERYWHERE]
    assert sorted(codes) == [topic.code for topic in TOPICS if topic.code < "AE7"]


def test_long_forms_are_named_by_their_codes() -> None:
    written = {place.name for place in files("agent_eval.codes").joinpath("texts").iterdir()}
    assert written == {f"{topic.code}.md" for topic in TOPICS}


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.code)
def test_long_form_has_a_title_and_says_more(topic: Topic) -> None:
    assert topic.title.endswith(".")
    assert len(topic.text.split("\n\n")) > 2
    assert all(len(line) <= 120 for line in topic.text.splitlines())


@pytest.mark.parametrize("name", ["AE101", "ae101", "extra-calls"])
def test_topic_is_found_by_code_and_name(name: str) -> None:
    topic = topic_of(name)
    assert topic
    assert topic.code == "AE101"


@pytest.mark.parametrize(
    ("name", "near"), [("AE1O1", "AE101"), ("ae11", "AE110"), ("extra-call", "extra-calls")]
)
def test_near_misses(name: str, near: str) -> None:
    assert topic_of(name) is None
    assert near in near_misses(name)


def test_nothing_is_near_to_something_else() -> None:
    assert near_misses("unheard-of") == []


def test_pages_of_codes_are_made_of_the_long_forms() -> None:
    spec = importlib.util.spec_from_file_location("codes", ROOT / "docs" / "codes.py")
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for page, groups in script.PAGES.items():
        text = page.read_text(encoding="utf-8")
        assert text == script.with_codes(text, groups), "run `python docs/codes.py`"
        assert all(
            topic.code in text for topic in topics() if topic.code[:4] in groups or topic.code[:3] in groups
        )
