"""Reports as files, and what CI systems are told where one is seen."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from agent_eval.cli.output import to_stdout
from agent_eval.errors import InputError, Problem

if TYPE_CHECKING:
    from agent_eval.cli.output import Output
    from agent_eval.compare.comparison import Comparison
    from agent_eval.report.places import Located
    from agent_eval.stored import Stored

GITLAB_FILE = "gl-code-quality-report.json"
"""Written in a GitLab job that names no other."""


STDOUT = "-"
"""In place of a file: standard output."""


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """The reports that are wanted, by the file that each goes to."""

    html: Path | None = None
    junit_xml: Path | None = None
    markdown: Path | None = None
    codequality: Path | None = None

    @classmethod
    def of(cls, *, json: bool, **names: str | None) -> ReportFiles:
        """The files by their names.

        Args:
            json: whether stdout has the JSON document.
            **names: by report; `-` is stdout.

        Raises:
            InputError: stdout is wanted twice.
        """
        there = [f"--{name} {STDOUT}" for name, file in names.items() if file == STDOUT]
        wanting = (["--json"] if json else []) + there
        if there and len(wanting) > 1:
            raise InputError(Problem(f"only one can have stdout: {', '.join(wanting)}", hint="name a file"))
        return cls(**{name: Path(file) for name, file in names.items() if file})

    def prepared(self) -> ReportFiles:
        """The same with their folders there, so that what cannot be written is told before anything runs.

        Raises:
            InputError: two are one file, or one is a folder.
            OSError: a folder cannot be made.
        """
        named = {one.name: file for one in fields(self) if (file := getattr(self, one.name))}
        wanted = {name: file.absolute() for name, file in named.items() if not _is_stdout(file)}
        for name, file in wanted.items():
            if file.is_dir():
                raise InputError(Problem("is a folder, expected a file to write", str(named[name])))
            if any(other == file and name < another for another, other in wanted.items()):
                raise InputError(Problem("two reports cannot be one file", str(named[name])))
            file.parent.mkdir(parents=True, exist_ok=True)
        return ReportFiles(**(named | wanted))


def _is_stdout(file: Path) -> bool:
    return str(file) == STDOUT


def write_reports(results: Sequence[Stored], files: ReportFiles) -> list[OSError]:
    """Writes each report that is wanted; the errors are of those that cannot be written."""
    return _written(
        [
            (files.html, lambda: _html(results)),
            (files.junit_xml, lambda: _junit_xml(results)),
            (files.markdown, lambda: _markdown(results)),
            (files.codequality, lambda: _code_quality(results)),
        ]
    )


def write_comparison(comparisons: Sequence[Comparison], files: ReportFiles) -> list[OSError]:
    """Writes each report of a comparison that is wanted; the errors are of those that cannot be written."""

    def html() -> bytes:
        from agent_eval.report.html.comparison import comparison_page

        return comparison_page(comparisons)

    def markdown() -> bytes:
        from agent_eval.report.comparison_markdown import comparison_markdown

        return comparison_markdown(comparisons).encode()

    return _written([(files.html, html), (files.markdown, markdown)])


def _written(wanted: Iterable[tuple[Path | None, Callable[[], bytes]]]) -> list[OSError]:
    errors = []
    for file, made in wanted:
        try:
            if file and _is_stdout(file):
                to_stdout(made())
            elif file:
                _write_file(made(), file)
        except BrokenPipeError:  # who reads has gone
            raise
        except OSError as error:
            errors.append(error)
    return errors


def _write_file(data: bytes, file: Path) -> None:
    """Writes a report whole or not at all; what is no regular file, as a pipe, is written to.

    Raises:
        OSError: it cannot be written.
    """
    from agent_eval.store.summary import write_whole

    if file.exists() and not file.is_file():
        file.write_bytes(data)
    else:
        write_whole(data, file.resolve())  # what a link points to, not the link


def _html(results: Sequence[Stored]) -> bytes:
    from agent_eval.report.html.result import Source, result_page

    return result_page([Source(one.result, one.records, str(one.journal or one.path)) for one in results])


def _junit_xml(results: Sequence[Stored]) -> bytes:
    from agent_eval.report.junit import junit_xml

    return junit_xml([one.result for one in results])


def _markdown(results: Sequence[Stored]) -> bytes:
    from agent_eval.report.markdown import markdown

    return markdown([one.result for one in results]).encode()


def _code_quality(results: Sequence[Stored]) -> bytes:
    from agent_eval import serde
    from agent_eval.report.places import code_quality

    return serde.to_json(code_quality(_located(results)), indent=True) + b"\n"


def _located(results: Sequence[Stored]) -> list[Located]:
    """The results with the places of their cases; paths are from the top of the repository."""
    from agent_eval.inputs.places import case_lines
    from agent_eval.report.places import Located

    top = Path(os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR") or ".").resolve()
    located = []
    for one in results:
        named = one.result.eval_set
        path = Path(named.path or one.path).resolve()  # a result of ADK does not name its eval set's file
        shown = path.relative_to(top) if path.is_relative_to(top) else path
        located.append(Located(one.result, shown.as_posix(), case_lines(path, named.sha256)))
    return located


def tell_ci(results: Sequence[Stored], files: ReportFiles, out: Output) -> list[OSError]:
    """Tells CI systems what they show: GitHub's summary and annotations, GitLab's findings.

    Returns:
        The errors of what cannot be written.
    """
    errors = []
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(summary).open("ab") as file:
                file.write(_markdown(results))
        except OSError as error:
            errors.append(error)
    if out.is_github:
        from agent_eval.report.places import github_annotations

        out.github_commands(github_annotations(_located(results)))
    if os.environ.get("GITLAB_CI") == "true" and files.codequality is None:
        errors += write_reports(results, ReportFiles(codequality=Path(GITLAB_FILE).absolute()))
    return errors
