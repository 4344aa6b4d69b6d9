"""Early stopping must give the verdict of the full vote, on every sequence of votes."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Mapping, Sequence

import pytest

from agent_eval.judge.base import Failure, ModelError
from agent_eval.judge.vote import Finding, Findings, Ruling, Tally, Vote, majority, poll, tally_of

YES, NO, NEITHER = Vote.YES, Vote.NO, Vote.NEITHER
LOST = "lost"
"""A sample that never came."""


def full_vote(votes: Sequence[Vote | str]) -> bool | None:
    """ADK's rule on all votes: more yes than no is a yes, a tie is a no; lost votes must not matter."""
    yes, no, lost = votes.count(YES), votes.count(NO), votes.count(LOST)
    if not yes and not no:
        return None
    outcomes = {yes + more > no + lost - more for more in range(lost + 1)}
    return outcomes.pop() if len(outcomes) == 1 else None


def stopped_early(votes: Sequence[Vote | str]) -> tuple[bool | None, int]:
    """The verdict by the rounds of `poll`, and how many votes it took."""
    asked = 0
    while True:
        cast = [vote for vote in votes[:asked] if vote is not LOST]
        tally = tally_of(cast, len(votes) - asked + votes[:asked].count(LOST))
        if tally.needed == 0 or tally.needed > len(votes) - asked:
            return tally.verdict, asked
        asked += tally.needed


@pytest.mark.parametrize("num_samples", range(1, 10))
def test_early_stopping_gives_the_verdict_of_the_full_vote_on_every_sequence(num_samples: int) -> None:
    for votes in itertools.product((YES, NO, NEITHER), repeat=num_samples):
        assert stopped_early(votes)[0] == full_vote(votes), votes


@pytest.mark.parametrize("num_samples", range(1, 8))
def test_so_it_does_where_samples_are_lost(num_samples: int) -> None:
    for votes in itertools.product((YES, NO, NEITHER, LOST), repeat=num_samples):
        assert stopped_early(votes)[0] == full_vote(votes), votes


@pytest.mark.parametrize("num_samples", range(1, 8))
def test_no_vote_is_asked_for_that_could_not_be_the_deciding_one(num_samples: int) -> None:
    """Of the fewest votes that could decide, the last one is needed: with one less nothing is certain."""
    for length in range(num_samples):
        for votes in itertools.product((YES, NO, NEITHER), repeat=length):
            needed = tally_of(votes, num_samples - length).needed
            for more in itertools.product((YES, NO, NEITHER), repeat=max(needed - 1, 0)):
                rest = num_samples - length - len(more)
                assert (tally_of([*votes, *more], rest).needed == 0) == (needed == 0)


@pytest.mark.parametrize(
    ("votes", "verdict", "calls"),
    [
        pytest.param([YES] * 5, True, 3, id="unanimous yes"),
        pytest.param([NO] * 5, False, 3, id="unanimous no"),
        pytest.param([YES, YES, NO, YES, YES], True, 4, id="one dissent"),
        pytest.param([YES, NO, YES, NO, YES], True, 5, id="split"),
        pytest.param([NO, NO, YES, YES], False, 2, id="half are enough for a no"),
        pytest.param([YES, YES, YES, NO], True, 3, id="a yes takes more than half"),
        pytest.param([YES, NO], False, 1 + 1, id="tie"),
        pytest.param([NO, YES], False, 1, id="a tie is certain"),
        pytest.param([NEITHER, NEITHER, YES], True, 3, id="the only vote decides"),
        pytest.param([NEITHER] * 3, None, 3, id="nobody votes"),
        pytest.param([LOST, LOST, LOST, YES, YES], None, 3, id="no longer to be had"),
        pytest.param([YES, LOST, YES], True, 3, id="the others decide"),
        pytest.param([YES], True, 1, id="one sample"),
    ],
)  # fmt: skip
def test_votes_asked_for(votes: list[Vote | str], verdict: bool | None, calls: int) -> None:
    assert stopped_early(votes) == (verdict, calls)
    ruling, asked = polled([{"q": vote} for vote in votes], ["q"])
    assert asked == list(range(calls))
    assert ruling.samples == calls
    assert (ruling.findings["q"].holds if ruling.findings else None) == verdict


def polled(script: Sequence[Mapping[str, Vote | str]], questions: Sequence[str]) -> tuple[Ruling, list[int]]:
    """What comes of samples as the script has them, answered in reverse of the order they are asked in."""
    asked: list[int] = []

    async def ask(sample: int) -> Findings:
        asked.append(sample)
        await asyncio.sleep((len(script) - sample) * 0.001)
        if LOST in script[sample].values():
            raise ModelError(Failure.QUOTA, "quota exceeded")
        if NEITHER in script[sample].values():
            raise ModelError(Failure.UNUSABLE, "cannot be used: hmm")
        return {name: Finding(vote is YES, f"sample {sample}") for name, vote in script[sample].items()}

    return asyncio.run(poll(ask, questions, len(script))), asked


def test_each_question_is_decided_by_itself_and_samples_are_asked_for_until_all_are() -> None:
    samples = [
        {"a": YES, "b": YES},
        {"a": YES, "b": NO},
        {"a": YES, "b": NO},
        {"a": NO, "b": YES},
        {"a": NO, "b": NO},
    ]
    ruling, asked = polled(samples, ["a", "b"])
    assert asked == [0, 1, 2, 3, 4]
    assert ruling == Ruling({"a": Finding(True, "sample 0"), "b": Finding(False, "sample 1")}, None, 5)


def test_the_rationale_is_that_of_the_first_sample_with_the_majority() -> None:
    ruling, _ = polled([{"q": NO}, {"q": YES}, {"q": YES}], ["q"])
    assert ruling.findings == {"q": Finding(True, "sample 1")}


@pytest.mark.parametrize(
    ("votes", "reason"),
    [
        ([LOST], "quota exceeded"),
        ([LOST, LOST, LOST], "2 of 2 samples gave no verdict: quota exceeded"),
        ([YES, LOST, NO], "1 of 3 samples gave no verdict: quota exceeded"),
        ([NEITHER, NEITHER, LOST], "3 of 3 samples gave no verdict: cannot be used: hmm"),
    ],
)
def test_without_a_verdict_the_first_cause_is_told(votes: list[Vote | str], reason: str) -> None:
    ruling, _ = polled([{"q": vote} for vote in votes], ["q"])
    assert ruling.findings == {}
    assert ruling.reason == reason


def test_a_question_that_is_lost_hinders_no_other() -> None:
    samples: list[Mapping[str, Vote | str]] = [{"a": YES, "b": YES}, {"a": YES, "b": NO}, {"a": LOST}]
    ruling, _ = polled(samples, ["a", "b"])
    assert ruling.findings == {"a": Finding(True, "sample 0")}
    assert ruling.reason == "1 of 3 samples gave no verdict: quota exceeded"


def test_which_samples_are_asked_for_depends_on_what_they_say_and_not_on_when_they_come() -> None:
    for votes in itertools.product((YES, NO), repeat=5):
        calls = stopped_early(votes)[1]
        assert polled([{"q": vote} for vote in votes], ["q"])[1] == list(range(calls))


@pytest.mark.parametrize(
    ("samples", "lost", "chosen"),
    [
        pytest.param([["r1+"], ["r1-"], ["r1+"]], 0, {"r1": "r1+"}, id="majority"),
        pytest.param([["r1+"], ["r1-"]], 0, {"r1": "r1-"}, id="tie"),
        pytest.param([["r2+"], ["r1+", "r2-"]], 0, {"r2": "r2-", "r1": "r1+"}, id="order of first mention"),
        pytest.param([["r1-", "r1-"], ["r1+"]], 0, {"r1": "r1-"}, id="said twice"),
        pytest.param([["r1?"], ["r1?"]], 0, {"r1": "r1?"}, id="said neither by all"),
        pytest.param([["r1?"], ["r1+"]], 0, {"r1": "r1+"}, id="said neither by one"),
        pytest.param([["r1+"]], 1, {}, id="a lost one could have tied"),
        pytest.param([["r1?"]], 1, {}, id="a lost one could have decided"),
        pytest.param([["r1-"]], 1, {"r1": "r1-"}, id="a no that a lost one could only tie"),
    ],
)  # fmt: skip
def test_majority(samples: Iterable[list[str]], lost: int, chosen: dict[str, str]) -> None:
    signs = {"+": YES, "-": NO, "?": NEITHER}
    ballots = [[(said[:-1], signs[said[-1]], said) for said in sample] for sample in samples]
    found = majority(ballots, lost)
    assert found == chosen
    assert list(found) == list(chosen)


def test_nothing_is_decided_by_nobody() -> None:
    assert Tally().verdict is None
    assert Tally().needed == 0
