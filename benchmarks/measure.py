"""Whole processes side by side: wall-clock time and peak memory, as tables, held against targets."""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from timeit import default_timer

_RSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in one unit of `ru_maxrss`."""


@dataclass(frozen=True, slots=True)
class Command:
    """A process to measure."""

    name: str
    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    """Comes on top of ours."""


@dataclass(slots=True)
class Samples:
    """What the rounds of one command measured."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    """Seconds of a core: less than `seconds` where it waited, for its agents or for its turn."""
    peak_mb: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """Seconds."""
        return median(self.seconds)

    @property
    def memory(self) -> float:
        """Median peak resident set, in MB of 1024 * 1024 bytes."""
        return median(self.peak_mb)


def interleaved(
    commands: Sequence[Command], rounds: int, *, warm_up: Sequence[Command] | None = None
) -> dict[str, Samples]:
    """Measures each command `rounds` times, in turn (A B C A B C ...), after one warm-up of each.

    Those that take long and have their bytecode from others may be left out of `warm_up`.

    Taking turns lets a slow moment of the machine hit all of them. Output goes to /dev/null.

    Raises:
        SystemExit: a command failed.
    """
    for command in commands if warm_up is None else warm_up:
        _warm_up(command)
    samples = {command.name: Samples() for command in commands}
    for number in range(rounds):
        _say(f"round {number + 1} of {rounds}")
        for command in commands:
            _measure(command, samples[command.name])
    _say("")
    return samples


def _warm_up(command: Command) -> None:
    """The first run, which also fills caches of bytecode; shows what a failing command printed."""
    _say(f"warm-up: {command.name}")
    done = subprocess.run(
        command.argv, cwd=command.cwd, env={**os.environ, **command.env}, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{command.name} exited {done.returncode}\n{done.stdout}{done.stderr}")


def _measure(command: Command, samples: Samples) -> None:
    """Adds one run.

    On Linux, a child's peak is at least that of the process that started it, so the scripts here
    hold nothing large themselves.
    """
    started = default_timer()
    process = subprocess.Popen(
        command.argv,
        cwd=command.cwd,
        env={**os.environ, **command.env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = default_timer() - started
    process.returncode = os.waitstatus_to_exitcode(status)  # reaped here, and not by Popen
    if process.returncode:
        raise SystemExit(f"{command.name} exited {process.returncode}")
    samples.seconds.append(seconds)
    samples.cpu.append(usage.ru_utime + usage.ru_stime)
    samples.peak_mb.append(usage.ru_maxrss * _RSS_UNIT / 2**20)


def _say(text: str) -> None:
    """One line on a terminal that the next one overwrites."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as they need: the first flush left, the others flush right."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        print("  ".join(cells))
    print()


def print_samples(samples: Mapping[str, Samples], baseline: str) -> None:
    """One row a command; the ratio is that of the medians."""
    unit = samples[baseline].median
    print_table(
        ["seconds, whole process", "min", "median", "max", "ratio", "CPU", "peak MB"],
        [
            [
                name,
                f"{min(one.seconds):.3f}",
                f"{one.median:.3f}",
                f"{max(one.seconds):.3f}",
                f"{one.median / unit:.2f}",
                f"{median(one.cpu):.3f}",
                f"{one.memory:.1f}",
            ]
            for name, one in samples.items()
        ],
    )


def print_target(what: str, value: float, limit: float, unit: str = "", *, at_least: bool = False) -> None:
    """A figure, what it should be, and whether it is."""
    met = value >= limit if at_least else value <= limit
    sign = ">=" if at_least else "<="
    number = f"{value:.0f}" if value >= 100 else f"{value:.2f}"
    print(f"{'met' if met else 'missed':6}  {what}: {number}{unit} (target {sign} {limit:g}{unit})")


def arguments(description: str | None, *, rounds: int) -> argparse.ArgumentParser:
    """The options that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--adk", metavar="PYTHON", help="interpreter of an environment with google-adk[eval]")
    parser.add_argument("--rounds", type=int, default=rounds, help="(default: %(default)s)")
    return parser


def adk_python(given: str | None) -> str | None:
    """The interpreter for the ADK rows; None, and said so, if there is none.

    Raises:
        SystemExit: the one that was named has no google-adk[eval].
    """
    python = given or sys.executable
    if given or importlib.util.find_spec("google.adk"):
        imported = subprocess.run(
            [python, "-c", "from google.adk.evaluation import final_response_match_v1, local_eval_service"],
            capture_output=True,
            text=True,
        )
        if not imported.returncode:
            return python
        if given:
            raise SystemExit(f"--adk: google-adk[eval] cannot be imported there\n{imported.stderr}")
    print("No ADK rows: this environment has no google-adk[eval]; name one that has with --adk.\n")
    return None


def script(python: str, name: str) -> str:
    """A console script of an interpreter's environment."""
    return str(Path(python).absolute().with_name(name))
