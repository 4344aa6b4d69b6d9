"""An eval set under way: its journal, what the verdicts of its cases need, and its result as it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from agent_eval import clock
from agent_eval.agents.base import Agent
from agent_eval.aggregate import verdict
from agent_eval.aggregate.decision import has_failed_for_good
from agent_eval.aggregate.outcome import RunOutcome, outcome_of
from agent_eval.aggregate.verdict import Stop
from agent_eval.criteria import config_ref
from agent_eval.diagnose.diagnosis import Diagnosis
from agent_eval.inputs.evalsets import case_sha256
from agent_eval.plan import RunSpec
from agent_eval.preparation import Evaluation, PlannedSet
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import (
    AgentRef,
    CaseResult,
    ConfigRef,
    EvalResult,
    EvalSetRef,
    Provenance,
    RunRecord,
)
from agent_eval.schema.trace import EvalStatus
from agent_eval.store.journal import SUFFIX, Journal, read_journal


@dataclass(slots=True)
class OpenSet:
    """An eval set under way."""

    planned: PlannedSet
    config: ConfigRef
    journal: Journal
    started: float
    outcomes: dict[str, list[RunOutcome]]
    """Of each case, in plan order."""
    diagnosis: Diagnosis
    """Why runs did not pass, found while their records are at hand."""
    saved: Counter[str] = field(default_factory=Counter)
    """Runs of each case that were not made since its verdict stood."""
    settled: dict[str, CaseResult] = field(default_factory=dict)
    """Of the cases that have all their runs; done between runs, so that nothing waits at the end."""

    def keep(self, case: EvalCase, record: RunRecord) -> None:
        """Takes a finished run: the record to disk, what the verdict needs to memory."""
        self.journal.append(record)
        self.count(case, record)

    def count(self, case: EvalCase, record: RunRecord) -> None:
        """Takes from a record what the verdict needs."""
        outcomes = self.outcomes[record.eval_id]
        outcomes.append(outcome_of(record))
        self.diagnosis.add(record)
        if len(outcomes) == self.planned.num_runs:
            self.settled[record.eval_id] = self.case_result(case)

    def carry(self) -> None:
        """Takes over the runs that were made before and stand; into the journal, if it is a new one."""
        if carried := self.planned.carried:
            cases = {case.case.eval_id: case.case for case in self.planned.cases}
            taken = self.count if carried.goes_on else self.keep
            for record in read_journal(carried.journal):
                if (record.eval_id, record.run_index) in carried.runs:
                    taken(cases[record.eval_id], record)

    def has(self, spec: RunSpec) -> bool:
        """Whether a run was made before."""
        carried = self.planned.carried
        return carried is not None and (spec.case.eval_id, spec.run_index) in carried.runs

    @property
    def is_missing_runs(self) -> bool:
        """Whether runs are still to be made."""
        made = sum(map(len, self.outcomes.values())) + self.saved.total()
        return made < len(self.planned.cases) * self.planned.num_runs

    def has_failed(self, eval_id: str) -> bool:
        """Whether a case has failed for good."""
        if eval_id in self.settled:
            return self.settled[eval_id].verdict is EvalStatus.FAILED
        outcomes = self.outcomes[eval_id]
        return has_failed_for_good(
            self.planned.config.config, outcomes, remaining=self.planned.num_runs - len(outcomes)
        )

    def case_result(self, case: EvalCase, stop: Stop | None = None) -> CaseResult:
        """The result of a case as it stands."""
        return verdict.case_result(
            self.planned.loaded.eval_set.eval_set_id,
            case.eval_id,
            case_sha256(case),
            self.planned.config.config,
            self.outcomes[case.eval_id],
            saved=self.saved[case.eval_id],
            stop=stop,
        )

    def result(
        self,
        evaluation: Evaluation,
        origin: Provenance,
        stop: Stop | None,
        eval_ids: Collection[str] | None = None,
    ) -> EvalResult:
        """The result of the eval set as it stands; of these cases alone, if some are named."""
        planned = self.planned
        settled = {} if stop else self.settled  # a stop may say more about a case
        wanted = [one.case for one in planned.cases if eval_ids is None or one.case.eval_id in eval_ids]
        cases = [settled.get(case.eval_id) or self.case_result(case, stop) for case in wanted]
        outcomes = [outcome for case in wanted for outcome in self.outcomes[case.eval_id]]
        seconds = clock.monotonic() - self.started
        result = EvalResult(
            result_id=self.journal.path.name.removesuffix(SUFFIX),
            created=clock.timestamp(),
            eval_set=eval_set_ref(planned),
            agent=agent_ref(planned, evaluation.agents),
            config=self.config,
            provenance=_provenance(origin, planned),
            totals=verdict.totals(cases, outcomes, seconds, evaluation.judge_prices),
            stopped=stop.reason if stop else None,
            cases=cases,
        )
        return self.diagnosis.explained(result)


def open_set(planned: PlannedSet, agent: AgentRef, stem: Path, stack: ExitStack) -> OpenSet:
    """Opens its journal: a new one, or the one that it goes on with.

    Raises:
        OSError: it cannot be written.
    """
    goes_on = planned.carried is not None and planned.carried.goes_on
    journal = Journal(stem.with_name(stem.name + SUFFIX), goes_on=goes_on)
    config = config_ref(planned.config, planned.metrics)
    return OpenSet(
        planned=planned,
        config=config,
        journal=stack.enter_context(journal),
        started=clock.monotonic(),
        outcomes={case.case.eval_id: [] for case in planned.cases},
        diagnosis=Diagnosis(config.criteria, config.custom_metrics, agent.name),
    )


def _provenance(origin: Provenance, planned: PlannedSet) -> Provenance:
    """That of the evaluation, with what is of one eval set: its part of the cases, and runs made before."""
    origin = origin.model_copy(update={"shard": planned.shard})
    carried = planned.carried
    if carried is None:
        return origin
    if carried.goes_on:
        return origin.model_copy(update={"changed_midway": list(carried.changed)})
    return origin.model_copy(update={"rerun_of": carried.result_id})


def eval_set_ref(planned: PlannedSet) -> EvalSetRef:
    """The eval set, as results have it."""
    loaded = planned.loaded
    return EvalSetRef(eval_set_id=loaded.eval_set.eval_set_id, path=str(loaded.path), sha256=loaded.sha256)


def agent_ref(planned: PlannedSet, agents: dict[str, Agent]) -> AgentRef:
    """The agent of the set; where cases name several, all of them."""
    references = list(dict.fromkeys(case.agent for case in planned.cases))
    return AgentRef(
        name=", ".join(agents[reference].name for reference in references),
        kind=", ".join(dict.fromkeys(agents[reference].kind for reference in references)),
        reference=", ".join(references),
    )
