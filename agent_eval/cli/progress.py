"""Progress on standard error: a bar with the time left on a terminal, a line now and then in a pipe."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from agent_eval import clock
from agent_eval.engine.progress import Progress as Watcher
from agent_eval.engine.progress import Silent
from agent_eval.plan import RunSpec
from agent_eval.report.text import duration
from agent_eval.schema.result import RunRecord, RunStatus

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

LINE_EVERY = 10.0
"""Seconds between lines in a pipe."""


class Tally:
    """How many runs are done, and how long the others will take."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.crashed = 0
        self._began = clock.monotonic()

    def add(self, record: RunRecord) -> None:
        """Counts a finished run."""
        self.done += 1
        self.crashed += record.status is RunStatus.CRASHED

    def text(self) -> str:
        """`12/40 runs, 1 crashed, 30 s left`."""
        said = f"{self.done}/{self.total} runs"
        if self.crashed:
            said += f", {self.crashed} crashed"
        if 0 < self.done < self.total:
            left = (clock.monotonic() - self._began) / self.done * (self.total - self.done)
            said += f", {duration(left)} left"
        return said


class Lines:
    """Progress in a pipe: nothing for a short evaluation."""

    def __init__(self, stream: TextIO, total: int) -> None:
        self._stream = stream
        self._tally = Tally(total)
        self._next = clock.monotonic() + LINE_EVERY

    def started(self, spec: RunSpec) -> None:
        """Nothing to tell."""

    def finished(self, record: RunRecord) -> None:
        """A line, if the last one was a while ago."""
        self._tally.add(record)
        if clock.monotonic() >= self._next:
            self._next = clock.monotonic() + LINE_EVERY
            print(self._tally.text(), file=self._stream, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is held."""


class Bar:
    """Progress on a terminal; the line goes away at the end."""

    def __init__(self, console: Console, total: int) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

        self._tally = Tally(total)
        self._bar: Progress = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=24),
            TextColumn("{task.description}", markup=False),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task(self._said(), total=total)

    def _said(self) -> str:
        said = f"{self._tally.done}/{self._tally.total} runs"
        return said + (f", {self._tally.crashed} crashed" if self._tally.crashed else "")

    def started(self, spec: RunSpec) -> None:
        """Nothing to tell."""

    def finished(self, record: RunRecord) -> None:
        """One step."""
        self._tally.add(record)
        self._bar.update(self._task, advance=1, description=self._said())

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


def watched(console: Console, runs: int, *, quiet: bool) -> AbstractContextManager[Watcher]:
    """Who watches so many runs: nobody where it is to be quiet."""
    if quiet:
        return nullcontext(Silent())
    can_move = console.is_terminal and not console.is_dumb_terminal
    return Bar(console, runs) if can_move else Lines(sys.stderr, runs)
