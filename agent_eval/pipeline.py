"""The whole flow on one page: prepared eval sets -> runs -> records -> verdicts -> summaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from agent_eval import clock
from agent_eval.agents.base import Agent
from agent_eval.aggregate import verdict
from agent_eval.aggregate.decision import has_failed_for_good
from agent_eval.aggregate.outcome import RunOutcome, outcome_of
from agent_eval.aggregate.verdict import Stop
from agent_eval.diagnose.diagnosis import Diagnosis
from agent_eval.engine.circuit_breaker import CircuitBreaker
from agent_eval.engine.progress import Progress, Silent
from agent_eval.engine.run import Played, play, score
from agent_eval.engine.scheduler import run_all
from agent_eval.errors import InputError, Problem
from agent_eval.plan import RunSpec, plan_runs
from agent_eval.preparation import Evaluation, Options, PlannedSet, case_sha256, config_ref
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
from agent_eval.store.journal import SUFFIX, Journal
from agent_eval.store.provenance import provenance
from agent_eval.store.summary import DEFAULT_FOLDER, new_stem, write_summary


@dataclass(slots=True)
class _OpenSet:
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

    def keep(self, spec: RunSpec, record: RunRecord) -> None:
        """Takes a finished run: the record to disk, what the verdict needs to memory."""
        self.journal.append(record)
        outcomes = self.outcomes[record.eval_id]
        outcomes.append(outcome_of(record))
        self.diagnosis.add(record)
        if len(outcomes) == self.planned.num_runs:
            self.settled[record.eval_id] = self.result_of(spec.case)

    def has_failed(self, eval_id: str) -> bool:
        """Whether a case has failed for good."""
        if eval_id in self.settled:
            return self.settled[eval_id].verdict is EvalStatus.FAILED
        outcomes = self.outcomes[eval_id]
        return has_failed_for_good(
            self.planned.config.config, outcomes, remaining=self.planned.num_runs - len(outcomes)
        )

    def result_of(self, case: EvalCase, stop: Stop | None = None) -> CaseResult:
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


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of one eval set, and its files."""

    result: EvalResult
    summary: Path
    journal: Path

    def near(self, home: Path) -> Finished:
        """The same with paths relative to a folder, where they lie below it."""
        below = self.summary.is_relative_to(home)
        return Finished(
            self.result,
            self.summary.relative_to(home) if below else self.summary,
            self.journal.relative_to(home) if below else self.journal,
        )


async def evaluate(evaluation: Evaluation, progress: Progress | None = None) -> list[Finished]:
    """Makes all runs in one pool and writes the results, one for each eval set.

    Raises:
        InputError: a judge or the folder for results cannot be used; nothing was run.
        OSError: results cannot be written; the journal keeps what was written before.
    """
    try:
        if evaluation.options.judges.preflight and (problems := await evaluation.judges.preflight()):
            raise InputError(*problems)
        return await _evaluate(evaluation, progress or Silent())
    finally:
        await evaluation.judges.aclose()


async def _evaluate(evaluation: Evaluation, progress: Progress) -> list[Finished]:
    options = evaluation.options
    home = Path.cwd()  # agents may change the folder
    folder = home / (options.output or DEFAULT_FOLDER)
    breaker = _breaker(options)
    failed: list[str] = []
    with ExitStack() as stack:
        try:
            opened = [
                _open_set(planned, _agent_ref(planned, evaluation.agents), folder, stack)
                for planned in evaluation.sets
            ]
        except OSError as error:
            problem = Problem(
                f"results cannot be kept there: {error.strerror}", str(error.filename or folder)
            )
            raise InputError(problem) from None

        def played(spec: RunSpec) -> Awaitable[Played]:
            players = opened[spec.set_index].planned.players
            progress.started(spec)
            return play(spec, evaluation.agents[spec.agent], lambda: players.player(spec.case, spec.seed))

        def scored(run: Played) -> Awaitable[RunRecord]:
            return score(run, opened[run.spec.set_index].planned.scorer)

        def keep(spec: RunSpec, record: RunRecord) -> None:
            opened[spec.set_index].keep(spec, record)
            breaker.watch(record)
            if options.fail_fast and opened[spec.set_index].has_failed(record.eval_id):
                failed.append(record.eval_id)

        def due() -> Iterator[RunSpec]:
            """The runs to make, drawn as places become free: those that still matter."""
            for spec in _specs(evaluation):
                one, eval_id = opened[spec.set_index], spec.case.eval_id
                if breaker.error or failed:
                    return
                if options.stop_when_decided and one.has_failed(eval_id):
                    one.saved[eval_id] += 1
                else:
                    yield spec

        try:
            await run_all(
                due(),
                played,
                scored,
                keep,
                parallelism=options.parallelism,
                one_by_one=options.fail_fast or options.stop_when_decided,
                progress=progress,
            )
        finally:
            for planned in evaluation.sets:
                await planned.scorer.aclose()
    stop = _stop(breaker, failed)
    origin = provenance(options.command, options.seed)
    return [_finish(one, evaluation, origin, stop).near(home) for one in opened]


def _breaker(options: Options) -> CircuitBreaker:
    runs = options.circuit_breaker
    return CircuitBreaker(runs and max(runs, options.parallelism))


def _stop(breaker: CircuitBreaker, failed: Sequence[str]) -> Stop | None:
    if breaker.error:
        error = f"{breaker.error.type}: {breaker.error.message}"
        return Stop(f"stopped, as the first runs all crashed alike: {error}", dead_endpoint=True)
    return Stop(f"stopped by --fail_fast, as `{failed[0]}` failed") if failed else None


def _specs(evaluation: Evaluation) -> Iterator[RunSpec]:
    for index, planned in enumerate(evaluation.sets):
        yield from plan_runs(
            index,
            planned.loaded.eval_set.eval_set_id,
            planned.cases,
            planned.config.config,
            seed=evaluation.options.seed,
            timeout=evaluation.options.timeout,
            retries=evaluation.options.retry_crashed,
        )


def _open_set(planned: PlannedSet, agent: AgentRef, folder: Path, stack: ExitStack) -> _OpenSet:
    stem = new_stem(folder, planned.loaded.eval_set.eval_set_id)
    config = config_ref(planned.config, planned.metrics)
    return _OpenSet(
        planned=planned,
        config=config,
        journal=stack.enter_context(Journal(stem.with_name(stem.name + SUFFIX))),
        started=clock.monotonic(),
        outcomes={case.case.eval_id: [] for case in planned.cases},
        diagnosis=Diagnosis(config.criteria, config.custom_metrics, agent.name),
    )


def _finish(one: _OpenSet, evaluation: Evaluation, origin: Provenance, stop: Stop | None) -> Finished:
    """The verdicts and the summary file of a finished eval set."""
    planned, journal = one.planned, one.journal.path
    result_id = journal.name.removesuffix(SUFFIX)
    eval_set = planned.loaded.eval_set
    settled = {} if stop else one.settled  # a stop may say more about a case
    cases = [settled.get(case.case.eval_id) or one.result_of(case.case, stop) for case in planned.cases]
    outcomes = [outcome for runs in one.outcomes.values() for outcome in runs]
    result = EvalResult(
        result_id=result_id,
        created=clock.timestamp(),
        eval_set=EvalSetRef(
            eval_set_id=eval_set.eval_set_id, path=str(planned.loaded.path), sha256=planned.loaded.sha256
        ),
        agent=_agent_ref(planned, evaluation.agents),
        config=one.config,
        provenance=origin,
        totals=verdict.totals(cases, outcomes, clock.monotonic() - one.started, evaluation.judge_prices),
        stopped=stop.reason if stop else None,
        cases=cases,
    )
    result = one.diagnosis.explained(result)
    summary = journal.with_name(f"{result_id}.json")
    write_summary(result, summary)
    return Finished(result, summary, journal)


def _agent_ref(planned: PlannedSet, agents: dict[str, Agent]) -> AgentRef:
    """The agent of the set; where cases name several, all of them."""
    references = list(dict.fromkeys(case.agent for case in planned.cases))
    return AgentRef(
        name=", ".join(agents[reference].name for reference in references),
        kind=", ".join(dict.fromkeys(agents[reference].kind for reference in references)),
        reference=", ".join(references),
    )
