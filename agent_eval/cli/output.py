"""Where a command's words go, and how it ends."""

from __future__ import annotations

import io
import logging
import os
import shlex
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from agent_eval.addresses import without_credentials
from agent_eval.errors import AgentEvalError, ExitCode, Problem

if TYPE_CHECKING:
    from rich.console import Console

MAX_PROBLEMS = 25
"""Problems beyond these are counted, not listed."""


class Output:
    """Standard output and error of one command; every way out of it has its exit code.

    The report goes to stdout. With `json`, stdout has one JSON document and nothing else, and with
    `stdout_taken` whatever else the command writes there.
    """

    has_document: ClassVar[bool] = False
    """Whether stdout has the JSON document."""

    def __init__(self, *, json: bool = False, stdout_taken: bool = False, debug: bool = False) -> None:
        self.is_json = json
        self._stdout_taken = json or stdout_taken
        self._debug = debug
        self._stderr: Console | None = None
        self._report: Console | None = None
        self.is_github = os.environ.get("GITHUB_ACTIONS") == "true"
        """Whether this is a step of a GitHub workflow, which obeys commands among what is printed."""
        self._fence = ""

    @property
    def stderr(self) -> Console:
        """Where notes and progress go."""
        self._stderr = self._stderr or _console(stderr=True)
        return self._stderr

    @property
    def report(self) -> Console:
        """Where the report goes."""
        self._report = self._report or _console(stderr=self._stdout_taken)
        return self._report

    def note(self, text: str) -> None:
        """Lines on stderr; on a terminal, those that are not indented are wrapped between words."""
        from agent_eval.report.text import printable

        if not sys.stderr.isatty():
            print(printable(text), file=sys.stderr)  # noqa: T201
            return
        for line in printable(text).splitlines():
            self.stderr.print(line, soft_wrap=line.startswith(" "))

    def json(self, document: Any) -> None:
        """The document on stdout."""
        from agent_eval import serde

        Output.has_document = True
        to_stdout(serde.to_json(document, indent=True) + b"\n")

    def github_commands(self, commands: Iterable[str]) -> None:
        """Commands for the GitHub workflow that this is a step of."""
        self._open_fence()
        for command in commands:
            print(command, file=self.report.file)

    def _close_fence(self) -> None:
        """From here on GitHub obeys no command: agents and judges could say one."""
        from agent_eval import clock

        self._fence = clock.new_id(32)
        print(f"::stop-commands::{self._fence}", file=self.report.file)

    def _open_fence(self) -> None:
        if self._fence:
            print(f"::{self._fence}::", file=self.report.file)
            self._fence = ""

    def exit(self, code: ExitCode, *, abandon_threads: bool = False) -> NoReturn:
        """Ends the command.

        Args:
            code: the exit code.
            abandon_threads: do not wait for threads, as a tool of a run that was given up may
                never return.
        """
        self._open_fence()
        if abandon_threads:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(int(code))
        raise SystemExit(int(code))

    def __enter__(self) -> Self:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # an answer in another script must not stop the report
                stream.reconfigure(errors="backslashreplace")
        if not self._debug:  # what a library logs of a crash is in the run's record
            logging.getLogger().addHandler(logging.NullHandler())
        if self.is_github:
            self._close_fence()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Expected failures are told, surprises are excused; both leave through their exit code."""
        if isinstance(error, AgentEvalError):
            self._tell(error.problems, error.exit_code)
            self.exit(error.exit_code)
        if isinstance(error, KeyboardInterrupt):
            self.note("interrupted; the runs that had finished are in the journal (`run --resume` goes on)")
            self.exit(ExitCode.INTERRUPTED)
        if isinstance(error, BrokenPipeError):  # the reader of our output has gone, as `head` does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            self.exit(ExitCode.FAILED)
        if isinstance(error, OSError):
            self._tell(
                (Problem(f"{error.strerror or error}", error.filename and str(error.filename)),),
                ExitCode.USAGE,
            )
            self.exit(ExitCode.USAGE)
        if isinstance(error, Exception) and not self._debug:
            self.note(
                f"Sorry, this is a bug in agent-eval: {type(error).__name__}: {error}\n"
                "Please report it with the command you ran, and what it prints with --debug."
            )
            self.exit(ExitCode.BUG)
        if isinstance(error, Exception):
            import traceback

            traceback.print_exception(error)
            self.exit(ExitCode.BUG)

    def _tell(self, problems: tuple[Problem, ...], code: ExitCode) -> None:
        if self.is_json:
            fields = ("message", "file", "path", "line", "hint")
            errors = [{field: getattr(problem, field) for field in fields} for problem in problems]
            self.json({"exit_code": int(code), "errors": errors})
        for problem in problems[:MAX_PROBLEMS]:
            self.note(f"error: {problem}")
        if len(problems) > MAX_PROBLEMS:
            self.note(f"error: and {len(problems) - MAX_PROBLEMS} more like these")


def to_stdout(data: bytes) -> None:
    """Writes a document to standard output, after what was printed before."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.flush()


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def command_line(argv: list[str]) -> str:
    """The command as it was typed, without the path it was started from and without secrets."""
    words = list(argv[1:])
    for index, word in enumerate(words):
        if word == "--header" and index + 1 < len(words):
            words[index + 1] = words[index + 1].partition(":")[0] + ": ***"
        elif word.startswith("--header="):
            words[index] = word.partition(":")[0] + ": ***"
    return without_credentials(shlex.join(["agent-eval", *words]))
