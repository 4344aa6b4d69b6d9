"""Runs of an earlier result that stand, while others are made again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from agent_eval.errors import InputError, Problem
from agent_eval.inputs.configs import LoadedConfig
from agent_eval.inputs.evalsets import case_sha256
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import EvalResult, RunRecord, RunStatus
from agent_eval.schema.trace import EvalStatus
from agent_eval.store.journal import read_journal


class Again(StrEnum):
    """Which runs of an earlier result are made again."""

    ERRORS = "errors"
    """Those that crashed, that could not be evaluated, or that are missing."""
    FAILED = "failed"
    """All runs of the cases that did not pass: to repeat only those that failed would better the rate."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """A result that the new one completes."""

    result: EvalResult
    journal: Path
    again: Again


@dataclass(frozen=True, slots=True)
class Carried:
    """Runs of an earlier result that stand."""

    result_id: str
    journal: Path
    runs: frozenset[tuple[str, int]]
    """Case and run index of each."""
    goes_on: bool = False
    """It is the same result that goes on, in the same journal."""
    changed: tuple[str, ...] = ()
    """What is not any more as it was for these runs."""


def carried(earlier: Earlier, cases: Sequence[EvalCase], config: LoadedConfig) -> Carried:
    """The runs that stand: none of a case that is not what it was.

    Raises:
        InputError: scores under another config cannot be joined with new ones, or there is no journal.
    """
    result, journal = earlier.result, str(earlier.journal)
    if result.config.sha256 != config.sha256:
        raise InputError(Problem("was made under another config, so new runs cannot be added to it", journal))
    same = {
        case.eval_id: case.verdict
        for case in result.cases
        if any(one.eval_id == case.eval_id and case_sha256(one) == case.sha256 for one in cases)
    }
    num_runs = config.config.multi_run_config.num_runs
    return Carried(
        result.result_id,
        earlier.journal,
        frozenset(
            (record.eval_id, record.run_index)
            for record in read_journal(earlier.journal)
            if record.eval_id in same
            and record.run_index < num_runs
            and _stands(record, same[record.eval_id], earlier.again)
        ),
    )


def _stands(record: RunRecord, verdict: EvalStatus, again: Again) -> bool:
    if again is Again.FAILED:
        return verdict is EvalStatus.PASSED
    return record.status is RunStatus.COMPLETED and not any(
        metric.status is EvalStatus.NOT_EVALUATED for metric in record.metrics
    )
