"""The whole flow on one page: prepared eval sets -> runs -> records -> verdicts -> summaries."""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from agent_eval.aggregate.verdict import Stop
from agent_eval.engine.circuit_breaker import CircuitBreaker
from agent_eval.engine.progress import Progress, Silent
from agent_eval.engine.scheduler import run_all
from agent_eval.errors import InputError, Problem
from agent_eval.inputs.evalsets import case_sha256
from agent_eval.open_sets import OpenSet, agent_ref, eval_set_ref, open_set
from agent_eval.plan import RunSpec, plan_runs
from agent_eval.preparation import Evaluation, PlannedSet
from agent_eval.resumption import settings_of, sources
from agent_eval.schema.result import (
    EvalResult,
    Provenance,
    RunRecord,
)
from agent_eval.store.provenance import provenance
from agent_eval.store.summary import DEFAULT_FOLDER, new_stem, write_summary
from agent_eval.store.unfinished import SUFFIX as PLAN
from agent_eval.store.unfinished import CaseDigest, PlanFile, Unfinished, UnfinishedSet


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
    async with Underway(evaluation) as underway:
        await underway.make(progress=progress)
        return underway.finish()


class Underway:
    """An evaluation under way: runs are made as they are asked for, and kept the moment they are done."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._home = Path.cwd()  # agents may change the folder
        self._journals = ExitStack()
        self._opened: list[OpenSet] = []
        self._breaker = _breaker(evaluation)
        self._failed: list[str] = []
        """The case that ended the evaluation, under `--fail_fast`."""
        self._plan: PlanFile | None = None
        """What the evaluation set out to do, until it is done."""
        self._is_stopped = False

    async def __aenter__(self) -> Self:
        """Asks the judges whether they are there, and opens the journals.

        Raises:
            InputError: a judge or the folder for results cannot be used.
        """
        evaluation = self._evaluation
        try:
            if evaluation.options.judges.preflight and (problems := await evaluation.judges.preflight()):
                raise InputError(*problems)
            self._open()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    def stop(self) -> None:
        """Makes no further runs; those under way are finished."""
        self._is_stopped = True

    @property
    def is_cut_short(self) -> bool:
        """Whether it was stopped while runs were missing."""
        return self._is_stopped and any(one.is_missing_runs for one in self._opened)

    async def _close(self) -> None:
        self._journals.close()
        await self._evaluation.aclose()

    def _open(self) -> None:
        folder = self._home / (self._evaluation.options.output or DEFAULT_FOLDER)
        evaluation = self._evaluation
        try:
            stems = [_stem(planned, folder) for planned in evaluation.sets]
            if evaluation.resumed:
                self._plan = evaluation.resumed.file
            elif evaluation.is_named and stems:
                self._plan = PlanFile.written(_plan(evaluation, stems), folder / f"{stems[0].name}{PLAN}")
            if self._plan:
                self._journals.enter_context(self._plan)
            for planned, stem in zip(evaluation.sets, stems, strict=True):
                agent = agent_ref(planned, evaluation.agents)
                self._opened.append(open_set(planned, agent, stem, self._journals))
                self._opened[-1].carry()
        except OSError as error:
            problem = Problem(
                f"results cannot be kept there: {error.strerror}", str(error.filename or folder)
            )
            raise InputError(problem) from None

    async def make(self, eval_ids: Collection[str] | None = None, progress: Progress | None = None) -> None:
        """Makes the runs of these cases; of all cases if none are named.

        Raises:
            OSError: a record cannot be written.
        """
        options, watcher = self._evaluation.options, progress or Silent()

        executor = self._evaluation.executor

        def played(spec: RunSpec) -> Awaitable[Any]:
            watcher.started(spec)
            return executor.play(spec)

        await run_all(
            self._due(eval_ids),
            played,
            executor.score,
            self._keep,
            places=self._evaluation.places,
            one_by_one=options.fail_fast or options.stop_when_decided,
            progress=watcher,
        )

    def _due(self, eval_ids: Collection[str] | None) -> Iterator[RunSpec]:
        """The runs to make, drawn as places become free: those that still matter."""
        for spec in _specs(self._evaluation, eval_ids):
            one, eval_id = self._opened[spec.set_index], spec.case.eval_id
            if self._breaker.error or self._failed or self._is_stopped:
                return
            if one.has(spec):
                continue
            if self._evaluation.options.stop_when_decided and one.has_failed(eval_id):
                one.saved[eval_id] += 1
            else:
                yield spec

    def _keep(self, spec: RunSpec, record: RunRecord) -> None:
        one = self._opened[spec.set_index]
        one.keep(spec.case, record)
        self._breaker.watch(record)
        if self._evaluation.options.fail_fast and one.has_failed(record.eval_id):
            self._failed.append(record.eval_id)

    def result(self, set_index: int, eval_ids: Collection[str] | None = None) -> EvalResult:
        """The result of an eval set as it stands; of these cases alone, if some are named."""
        return self._opened[set_index].result(self._evaluation, self._origin, self._stop, eval_ids)

    @property
    def _stop(self) -> Stop | None:
        """Why runs are missing, if the evaluation was ended before they were made."""
        if self.is_cut_short:
            return Stop("interrupted; `agent-eval run --resume` goes on")
        return _early_end(self._breaker, self._failed)

    def finish(self, *, made_only: bool = False) -> list[Finished]:
        """Writes the summaries.

        Args:
            made_only: leave out the cases that no run was made of.

        Raises:
            OSError: one cannot be written.
        """
        finished = [self._finished(index, one, made_only) for index, one in enumerate(self._opened)]
        if self._plan and not self.is_cut_short:
            self._plan.remove()
        self._journals.close()
        return finished

    def _finished(self, index: int, one: OpenSet, made_only: bool) -> Finished:
        made = [eval_id for eval_id, outcomes in one.outcomes.items() if outcomes] if made_only else None
        result = self.result(index, made)
        summary = one.journal.path.with_name(f"{result.result_id}.json")
        write_summary(result, summary)
        return Finished(result, summary, one.journal.path).near(self._home)

    @cached_property
    def _origin(self) -> Provenance:
        options = self._evaluation.options
        return provenance(options.command, options.seed)


def _stem(planned: PlannedSet, folder: Path) -> Path:
    """The common start of the names of a set's files."""
    if planned.carried and planned.carried.goes_on:
        return planned.carried.journal.with_name(planned.carried.result_id)
    return new_stem(folder, planned.loaded.eval_set.eval_set_id)


def _plan(evaluation: Evaluation, stems: Sequence[Path]) -> Unfinished:
    """What the evaluation sets out to do."""
    return Unfinished(
        command=evaluation.options.command,
        settings=settings_of(evaluation.options),
        sets=[
            UnfinishedSet(
                result_id=stem.name,
                folder=stem.parent.name,
                eval_set=eval_set_ref(planned),
                cases=[
                    CaseDigest(eval_id=one.case.eval_id, sha256=case_sha256(one.case))
                    for one in planned.cases
                ],
                config_path=str(planned.config.path) if planned.config.path else None,
                config_sha256=planned.config.sha256,
                num_runs=planned.num_runs,
                agents=sources(dict.fromkeys(one.agent for one in planned.cases)),
                shard=planned.shard,
            )
            for planned, stem in zip(evaluation.sets, stems, strict=True)
        ],
    )


def _breaker(evaluation: Evaluation) -> CircuitBreaker:
    runs = evaluation.options.circuit_breaker
    return CircuitBreaker(runs and max(runs, evaluation.places.size))


def _early_end(breaker: CircuitBreaker, failed: Sequence[str]) -> Stop | None:
    if breaker.error:
        error = f"{breaker.error.type}: {breaker.error.message}"
        return Stop(f"stopped, as the first runs all crashed alike: {error}", dead_endpoint=True)
    return Stop(f"stopped by --fail_fast, as `{failed[0]}` failed") if failed else None


def _specs(evaluation: Evaluation, eval_ids: Collection[str] | None) -> Iterator[RunSpec]:
    for index, planned in enumerate(evaluation.sets):
        yield from plan_runs(
            index,
            planned.loaded.eval_set.eval_set_id,
            [one for one in planned.cases if eval_ids is None or one.case.eval_id in eval_ids],
            planned.config.config,
            seed=evaluation.options.seed,
            timeout=evaluation.options.timeout,
            retries=evaluation.options.retry_crashed,
        )
