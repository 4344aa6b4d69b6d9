"""Turns before those that count: judges know them, and are not asked about them."""

from __future__ import annotations

import dataclasses

import pytest

from tests.metrics.judged.support import evaluator_of, invocations, turn
from tests.metrics.judged.test_fences import METRICS, evidence_of, outside_of, run_saying

BEFORE = [turn("Which desks are free?", "D7 and D9.")]


@pytest.mark.parametrize("name", METRICS)
def test_context_is_evidence_and_raises_no_question(name: str) -> None:
    evaluator = evaluator_of(name, **METRICS[name])
    run = run_saying("Some text.", name)
    alone = evaluator.requests(run)
    found = evaluator.requests(dataclasses.replace(run, context=invocations(BEFORE)))

    assert len(found) == len(alone)
    for request in found:
        assert "Which desks are free?" in evidence_of(request)
        assert "D7 and D9." in evidence_of(request)
        assert "D7" not in outside_of(request)
