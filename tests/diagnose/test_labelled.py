"""The failures that were written down: the right cause comes first, and none is against the facts."""

from __future__ import annotations

from collections import Counter

import pytest

from agent_eval.codes.catalogue import topics
from tests.diagnose.facts import CHECKS, contradictions
from tests.diagnose.labelled import FAILURES
from tests.diagnose.player import Played, played

CODES = {topic.code for topic in topics() if topic.code < "AE7"}
"""Of causes; the others are of findings in files."""


@pytest.fixture(scope="module")
def every() -> list[Played]:
    return [played(failure) for failure in FAILURES]


def test_right_cause_comes_first_in_nine_of_ten(every: list[Played]) -> None:
    wrong = [
        f"{one.failure.name}: {one.first}, not {one.failure.cause}"
        for one in every
        if one.first != one.failure.cause
    ]
    assert len(wrong) <= len(every) / 10, wrong


def test_no_cause_is_against_the_facts(every: list[Played]) -> None:
    assert [(one.failure.name, told) for one in every for told in contradictions(one)] == []


def test_every_cause_is_written_down_three_times() -> None:
    amounts = Counter(failure.cause for failure in FAILURES)
    assert len(FAILURES) >= 60
    assert {code: amounts[code] for code in CODES if amounts[code] < 3} == {}


def test_every_cause_has_its_facts_checked() -> None:
    across = {"AE302", "AE601", "AE602"}
    assert set(CHECKS) | across == CODES
