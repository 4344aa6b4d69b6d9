"""Eval cases as pytest items: a file an eval set, a test a case.

One event loop, one agent and one result serve all cases of an eval set, so that a case costs what its
runs cost. Each test makes the runs of its case and no others: what pytest selects, orders, stops or
hands to workers is what happens. Workers of pytest-xdist send what they made along with the reports of
their tests, and the process that started them makes one result of it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator, Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from agent_eval import clock, serde
from agent_eval.errors import AgentEvalError
from agent_eval.inputs.evalsets import SUFFIXES, load_eval_set
from agent_eval.inputs.project import find_project
from agent_eval.joining import Joined
from agent_eval.options import Options
from agent_eval.pipeline import Underway
from agent_eval.plan import RunSpec
from agent_eval.preparation import plan_evaluation
from agent_eval.report.failures import failure_text
from agent_eval.report.text import against, printable
from agent_eval.schema.result import CaseResult, EvalResult, RunRecord
from agent_eval.schema.trace import EvalStatus
from agent_eval.store.summary import DEFAULT_FOLDER

MADE = "agent_eval"
"""What a worker made, among the attributes of a report."""


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
        self._scratch = TemporaryDirectory() if hasattr(config, "workerinput") else None
        """Where a worker keeps results, which are not the ones to keep."""
        self._joined: dict[str, Joined] = {}
        """What workers made, by eval set."""
        self._home = Path.cwd()  # tests may change the folder
        self._started = clock.monotonic()
        self._summaries: list[Path] = []

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
        if self._scratch and call.when == "call" and isinstance(item, EvalCaseItem) and item.made:
            vars(report)[MADE] = item.made.sent()
        return report

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keeps what a worker made."""
        if self._scratch or not (sent := vars(report).pop(MADE, None)):
            return
        made = Made.received(sent)
        eval_set = made.result.eval_set.path
        if eval_set not in self._joined:
            folder = self._config.getoption("agent_eval_output") or DEFAULT_FOLDER
            self._joined[eval_set] = Joined(made.result, self._home / folder)
        self._joined[eval_set].add(made.result, made.records, position=made.position)

    @pytest.hookimpl
    def pytest_sessionfinish(self) -> None:
        """Writes the results: of each eval set, the cases that were run here."""
        for underway in self._underway.values():
            if isinstance(underway, Underway):
                self._summaries += [one.summary for one in underway.finish(made_only=True)]
                self._run(underway.__aexit__(None, None, None))
        if self._loop:
            self._loop.close()
        if self._scratch:
            self._scratch.cleanup()
        seconds = clock.monotonic() - self._started
        for joined in self._joined.values():
            summary = joined.finish(seconds=seconds, prices=find_project().settings.judge_prices)
            self._summaries.append(Path(os.path.relpath(summary, self._home)))

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Where the results are."""
        for summary in self._summaries:
            terminalreporter.write_line(f"agent-eval result: {summary}")

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
            output=self._scratch.name if self._scratch else option("agent_eval_output"),
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


@dataclass(frozen=True, slots=True)
class Made:
    """What came of one case."""

    position: int
    """Among the cases of its eval set."""
    result: EvalResult
    """Of this case alone."""
    records: list[RunRecord]

    def sent(self) -> dict[str, Any]:
        """As plain values, for another process."""
        records = [serde.model_to_json(record).decode() for record in self.records]
        return {
            "position": self.position,
            "result": serde.model_to_json(self.result).decode(),
            "records": records,
        }

    @classmethod
    def received(cls, sent: dict[str, Any]) -> Made:
        """The same again."""
        records = [RunRecord.model_validate_json(record) for record in sent["records"]]
        return cls(sent["position"], EvalResult.model_validate_json(sent["result"]), records)


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
        for position, case in enumerate(loaded.eval_set.eval_cases):
            item: EvalCaseItem = EvalCaseItem.from_parent(self, name=case.eval_id)
            item.position = position
            yield item


class EvalCaseItem(pytest.Item):
    """An eval case."""

    position: int
    made: Made | None = None

    def runtest(self) -> None:
        """Makes the runs of the case.

        Raises:
            CaseFailedError: it did not pass.
            AgentEvalError: the eval set cannot be evaluated.
        """
        assert isinstance(self.parent, EvalSetFile)
        result, records = self.parent.cases.evaluate(self.path, self.name)
        self.made = Made(self.position, result, records)
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
