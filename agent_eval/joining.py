"""One result out of cases that several processes evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from agent_eval import clock
from agent_eval.aggregate.outcome import RunOutcome, outcome_of
from agent_eval.aggregate.verdict import totals
from agent_eval.diagnose.diagnosis import Diagnosis
from agent_eval.schema.result import CaseResult, EvalResult, RunRecord, TokenPrices
from agent_eval.store.journal import SUFFIX, Journal
from agent_eval.store.summary import new_stem, write_summary


class Joined:
    """The result of an eval set under way: records are kept the moment they come."""

    def __init__(self, like: EvalResult, folder: Path) -> None:
        """Opens the journal.

        Args:
            like: a part of it, which tells what all parts have in common.
            folder: where results are kept.

        Raises:
            OSError: the folder or the journal cannot be made.
        """
        self._like = like
        self._stem = new_stem(folder, like.eval_set.eval_set_id)
        self._stack = ExitStack()
        self._journal = self._stack.enter_context(Journal(self._stem.with_name(self._stem.name + SUFFIX)))
        self._diagnosis = Diagnosis(like.config.criteria, like.config.custom_metrics, like.agent.name)
        self._outcomes: list[RunOutcome] = []
        self._cases: dict[int, list[CaseResult]] = {}
        self._stopped = like.stopped

    def add(self, part: EvalResult, records: Sequence[RunRecord], *, position: int) -> None:
        """Takes cases with all their runs.

        Args:
            part: their result.
            records: their runs.
            position: where they stand among the others.

        Raises:
            OSError: a record cannot be written.
        """
        for record in records:
            self._journal.append(record)
            self._diagnosis.add(record)
            self._outcomes.append(outcome_of(record))
        self._cases[position] = part.cases
        self._stopped = self._stopped or part.stopped

    def finish(self, *, seconds: float, prices: Mapping[str, TokenPrices]) -> Path:
        """Writes the summary.

        Args:
            seconds: what all parts took, beside one another.
            prices: of models, by name.

        Raises:
            OSError: it cannot be written.

        Returns:
            Its file.
        """
        self._stack.close()
        cases = [case for _, some in sorted(self._cases.items()) for case in some]
        result = self._diagnosis.explained(
            self._like.model_copy(
                update={
                    "result_id": self._stem.name,
                    "created": clock.timestamp(),
                    "totals": totals(cases, self._outcomes, seconds, prices),
                    "stopped": self._stopped,
                    "cases": cases,
                }
            )
        )
        summary = self._stem.with_name(f"{self._stem.name}.json")
        write_summary(result, summary)
        return summary
