"""Bad input is accepted or refused, and nothing else."""

from __future__ import annotations

import pytest

from tests.fuzz.readers import READERS, Reader, shares
from tests.fuzz.runner import fuzz

INPUTS = 200_000
PARTS = 4
"""Each reader's inputs are drawn in so many parts, so that no core waits for another."""
MAX_MEGABYTES = 300
"""By which reading files of a few kilobytes may make a process grow."""

NEVER_REFUSE = ("lint of an eval set", "lint of a config", "judge's answer")
"""What they cannot read is what they say."""

EVERY_READER = [pytest.param(reader, id=reader.name) for reader in READERS]


def _holds(reader: Reader, inputs: int, seed: str) -> int:
    tally = fuzz(reader, inputs, seed)
    assert not tally.bugs, {told: data[:2000] for told, data in tally.bugs.items()}
    assert tally.accepted
    assert tally.refused or reader.name in NEVER_REFUSE
    assert tally.megabytes < MAX_MEGABYTES
    return tally.inputs


@pytest.mark.parametrize("reader", EVERY_READER)
def test_bad_input_is_accepted_or_refused(reader: Reader) -> None:
    assert _holds(reader, 200, "quick") >= 200


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(
    ("reader", "inputs"), [pytest.param(*share, id=share[0].name) for share in shares(INPUTS)]
)
def test_much_bad_input_is_accepted_or_refused(reader: Reader, inputs: int, part: int) -> None:
    assert _holds(reader, -(-inputs // PARTS), str(part)) >= inputs / PARTS


def test_parts_are_as_many_inputs_as_are_claimed() -> None:
    assert sum(inputs for _, inputs in shares(INPUTS)) >= INPUTS


def test_same_seed_gives_the_same_inputs() -> None:
    reader = next(reader for reader in READERS if reader.name == "labels")
    one, other, different = (fuzz(reader, 300, seed) for seed in ("a", "a", "b"))
    counts = [(tally.accepted, tally.refused) for tally in (one, other, different)]
    assert counts[0] == counts[1] != counts[2]
