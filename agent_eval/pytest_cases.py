"""Eval cases as pytest items: a file an eval set, a test a case.

One event loop, one agent and one result serve all cases of an eval set, so that a case costs what its
runs cost. Each test makes the runs of its case and no others: what pytest selects, orders, stops or
hands to workers is what happens.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from agent_eval.errors import AgentEvalError
from agent_eval.inputs.evalsets import SUFFIXES, load_eval_set
from agent_eval.pipeline import Finished, Underway
from agent_eval.plan import RunSpec
from agent_eval.preparation import Options, plan_evaluation
from agent_eval.report.failures import failure_text
from agent_eval.report.text import against, printable
from agent_eval.schema.result import CaseResult, EvalResult, RunRecord
from agent_eval.schema.trace import EvalStatus


class CaseFailedError(Exception):
    """A case did not pass; the message is the report of it."""


class CaseNotEvaluatedError(CaseFailedError):
    """A case could not be evaluated, which is no pass, and nothing that anybody expects to fail."""


class EvalCases:
    """Collects eval sets and keeps what their cases share."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._loop: asyncio.Runner | None = None
        self._underway: dict[Path, Underway | AgentEvalError] = {}
        """By eval set, or why it cannot be evaluated."""
        self._finished: list[Finished] = []

    @pytest.hookimpl
    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.File | None:
        """An eval set by its name."""
        if not file_path.name.endswith(SUFFIXES):
            return None
        eval_set: EvalSetFile = EvalSetFile.from_parent(parent, path=file_path)
        eval_set.cases = self
        return eval_set

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """A case that could not be evaluated did not fail as expected, whatever it is marked with."""
        report = yield
        if call.excinfo and call.excinfo.errisinstance(CaseNotEvaluatedError) and report.skipped:
            report.outcome = "failed"
            report.longrepr = str(call.excinfo.value)
            del report.wasxfail
        return report

    @pytest.hookimpl
    def pytest_sessionfinish(self) -> None:
        """Writes the results: of each eval set, the cases that were run here."""
        for underway in self._underway.values():
            if isinstance(underway, Underway):
                self._finished += underway.finish(made_only=True)
                self._run(underway.__aexit__(None, None, None))
        if self._loop:
            self._loop.close()

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Where the results are."""
        for one in self._finished:
            terminalreporter.write_line(f"agent-eval result: {one.summary}")

    def evaluate(self, eval_set: Path, eval_id: str) -> tuple[EvalResult, list[RunRecord]]:
        """Makes the runs of one case.

        Raises:
            AgentEvalError: the eval set cannot be evaluated.
        """
        underway = self._underway.get(eval_set)
        if underway is None:
            underway = self._underway[eval_set] = self._open(eval_set)
        if isinstance(underway, AgentEvalError):
            raise underway
        seen = _Records()
        with chdir(Path.cwd()):  # the folder that agents change to is theirs
            self._run(underway.make([eval_id], seen))
        return underway.result(0, [eval_id]), seen.records

    def _open(self, eval_set: Path) -> Underway | AgentEvalError:
        option = self._config.getoption
        options = Options(
            agent=option("agent_eval_agent") or self._ini_agent(),
            eval_sets=(os.path.relpath(eval_set),),
            config=option("agent_eval_config"),
            num_runs=option("agent_eval_num_runs"),
            output=option("agent_eval_output"),
            command="pytest",
        )
        try:
            underway = Underway(plan_evaluation(options))
            self._run(underway.__aenter__())
        except AgentEvalError as error:
            return error
        return underway

    def _ini_agent(self) -> str | None:
        """A path is relative to the ini file."""
        named = str(self._config.getini("agent_eval_agent"))
        base = self._config.inipath.parent if self._config.inipath else self._config.rootpath
        path = base / named
        return (os.path.relpath(path) if path.exists() else named) if named else None

    def _run(self, what: Any) -> Any:
        """On the one event loop, which is not made that of the thread: tests may have their own."""
        self._loop = self._loop or asyncio.Runner(loop_factory=asyncio.new_event_loop)
        return self._loop.run(what)


class _Records:
    """Keeps the records of the runs that are made."""

    def __init__(self) -> None:
        self.records: list[RunRecord] = []

    def started(self, spec: RunSpec) -> None:
        """Nothing to do."""

    def finished(self, record: RunRecord) -> None:
        """One more."""
        self.records.append(record)


class EvalSetFile(pytest.File):
    """An eval set."""

    cases: EvalCases

    def collect(self) -> Iterator[EvalCaseItem]:
        """Its cases."""
        try:
            loaded = load_eval_set(Path(os.path.relpath(self.path)))
        except AgentEvalError as error:
            raise self.CollectError(str(error)) from None
        for case in loaded.eval_set.eval_cases:
            yield EvalCaseItem.from_parent(self, name=case.eval_id)


class EvalCaseItem(pytest.Item):
    """An eval case."""

    def runtest(self) -> None:
        """Makes the runs of the case.

        Raises:
            CaseFailedError: it did not pass.
            AgentEvalError: the eval set cannot be evaluated.
        """
        assert isinstance(self.parent, EvalSetFile)
        result, records = self.parent.cases.evaluate(self.path, self.name)
        (case,) = result.cases
        self.user_properties += [
            (metric.metric_name, metric.score)
            for metric in case.metrics
            if metric.threshold is not None and metric.score is not None
        ]
        if case.attempts > 1:
            self.user_properties.append(("runs", f"{case.passed}/{case.scored} passed"))
        if case.verdict is EvalStatus.PASSED:
            return
        text = f"{_gist(result, case)}\n{failure_text(result, records)}".rstrip()
        raise (CaseFailedError if case.verdict is EvalStatus.FAILED else CaseNotEvaluatedError)(text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report of the case; a traceback only of what is no failure of the case."""
        if isinstance(excinfo.value, (CaseFailedError, AgentEvalError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """What pytest calls the test."""
        return self.path, 0, f"{self.path.name}: {self.name}"


def _gist(result: EvalResult, case: CaseResult) -> str:
    """What pytest shows of a failure on one line."""
    metrics = [
        f"{metric.metric_name} {against(metric.score, metric.threshold)}"
        for metric in case.metrics
        if metric.status in (EvalStatus.FAILED, EvalStatus.NOT_EVALUATED)
    ]
    crashes = [f"{run.error.type}: {run.error.message}" for run in case.runs if run.error]
    stopped = [result.stopped] if result.stopped else []
    told = dict.fromkeys(crashes[:1] or [*stopped, *metrics, *case.reasons])
    return printable(f"{case.verdict.value}: {', '.join(told)}")
