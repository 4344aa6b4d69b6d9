"""Progress on standard error: a bar with the time left on a terminal, a line now and then in a pipe."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from agent_eval import clock
from agent_eval.engine.places import AdaptivePlaces, Places
from agent_eval.engine.progress import Progress as Watcher
from agent_eval.engine.progress import Silent
from agent_eval.load.traffic import Traffic
from agent_eval.plan import RunSpec
from agent_eval.report.text import duration
from agent_eval.schema.result import RunRecord, RunStatus

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

LINE_EVERY = 10.0
"""Seconds between lines in a pipe."""


@dataclass(frozen=True, slots=True)
class Load:
    """What decides how many runs are under way."""

    places: Places
    traffic: Traffic

    def text(self) -> str:
        """`, 8 at once, waiting 4 s (429)`: what was not asked for as it is; empty if nothing is."""
        said = f", {self.places.size} at once" if isinstance(self.places, AdaptivePlaces) else ""
        if waiting := self.traffic.waiting:
            said += f", waiting {duration(waiting)} (429)"
        elif self.traffic.limits.are_reached:
            said += ", at the limit a minute"
        return said


class Tally:
    """How many runs are done, and how long the others will take."""

    def __init__(self, total: int, load: Load | None = None) -> None:
        self.total = total
        self._load = load
        self.done = 0
        self.crashed = 0
        self._began = clock.monotonic()

    def add(self, record: RunRecord) -> None:
        """Counts a finished run."""
        self.done += 1
        self.crashed += record.status is RunStatus.CRASHED

    def __str__(self) -> str:
        """`12/40 runs, 1 crashed, 8 at once`, as it is now."""
        said = f"{self.done}/{self.total} runs"
        if self.crashed:
            said += f", {self.crashed} crashed"
        return said + (self._load.text() if self._load else "")

    def text(self) -> str:
        """`12/40 runs, 1 crashed, 30 s left`."""
        said = str(self)
        if 0 < self.done < self.total:
            left = (clock.monotonic() - self._began) / self.done * (self.total - self.done)
            said += f", {duration(left)} left"
        return said


class Lines:
    """Progress in a pipe: nothing for a short evaluation."""

    def __init__(self, stream: TextIO, total: int, load: Load | None = None) -> None:
        self._stream = stream
        self._tally = Tally(total, load)
        if load:
            load.traffic.listeners.append(self._refused)
        self._next = clock.monotonic() + LINE_EVERY

    def started(self, spec: RunSpec) -> None:
        """Nothing to tell."""

    def finished(self, record: RunRecord) -> None:
        """A line, if the last one was a while ago."""
        self._tally.add(record)
        self._tell()

    def _refused(self, place: str, seconds: float, is_new: bool) -> None:
        self._tell()  # no run may finish for a while

    def _tell(self) -> None:
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

    def __init__(self, console: Console, total: int, load: Load | None = None) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

        self._tally = Tally(total, load)
        self._bar: Progress = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[tally]}", markup=False),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("runs", total=total, tally=self._tally)

    def started(self, spec: RunSpec) -> None:
        """Nothing to tell."""

    def finished(self, record: RunRecord) -> None:
        """One step."""
        self._tally.add(record)
        self._bar.update(self._task, advance=1)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


def watched(
    console: Console, runs: int, load: Load | None = None, *, quiet: bool
) -> AbstractContextManager[Watcher]:
    """Who watches so many runs: nobody where it is to be quiet."""
    if quiet:
        return nullcontext(Silent())
    can_move = console.is_terminal and not console.is_dumb_terminal
    return Bar(console, runs, load) if can_move else Lines(sys.stderr, runs, load)
