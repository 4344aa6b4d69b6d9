"""Results on disk -> values, whoever wrote them: a summary, a journal, a result of ADK, traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_eval.errors import InputError, Problem
from agent_eval.schema.result import EvalResult, RunRecord
from agent_eval.store.journal import SUFFIX, read_journal
from agent_eval.store.results import parsed, read_content, read_result, result_of


@dataclass(frozen=True, slots=True)
class Stored:
    """A result and where it is."""

    result: EvalResult
    path: Path
    """The file that stands for it."""
    journal: Path | None = None
    """None where there is none."""
    adk_results: tuple[Path, ...] = ()
    """Its files in ADK's form."""
    kept: tuple[RunRecord, ...] = ()
    """The run records, where there is no journal to read them from."""

    def records(self) -> Iterator[RunRecord]:
        """The run records, one at a time.

        Raises:
            InputError: the journal is damaged.
        """
        return iter(self.kept) if self.journal is None else _records(self.journal)


def _records(journal: Path) -> Iterator[RunRecord]:
    try:
        yield from read_journal(journal)
    except FileNotFoundError:
        raise InputError(Problem("no such file", str(journal))) from None
    except OSError as error:
        raise InputError(Problem(f"cannot be read: {error.strerror}", str(journal))) from None
    except ValueError as error:
        raise InputError(Problem(str(error).splitlines()[0])) from None  # it begins with file and line


def read_stored(path: Path) -> Stored:
    """Reads a summary, a journal, a result file of ADK, or traces of `agents-cli eval generate`.

    Raises:
        InputError: it is none of them, or cannot be read.
    """
    if path.name.endswith(SUFFIX):
        stem = path.name.removesuffix(SUFFIX)
        summary = path.with_name(f"{stem}.json")
        return Stored(read_result(path), summary, path) if summary.exists() else _of_journal(path, stem)
    content = read_content(path)
    document = parsed(content, str(path))
    if _is_adk_result(document):
        return _of_adk_result(content, path)
    if _has_cases_of_its_own(document):
        return _of_traces(document, path)
    result = result_of(document, str(path))
    if not result.cases:
        raise InputError(Problem("has no cases", str(path), "cases"))
    journal = path.with_name(path.name.removesuffix(".json") + SUFFIX)
    return Stored(result, path, journal if journal.exists() else None)


def _is_adk_result(document: Any) -> bool:
    """Whether a document has ADK's form, or is a text that may hold one."""
    keys = ("eval_case_results", "evalCaseResults")
    return isinstance(document, str) or (isinstance(document, dict) and any(key in document for key in keys))


def _has_cases_of_its_own(document: Any) -> bool:
    """Whether a document may be one of traces; an eval set is another that has cases."""
    return isinstance(document, dict) and any(key in document for key in ("eval_cases", "evalCases"))


def _of_traces(document: Any, path: Path) -> Stored:
    from agent_eval.recompute import result_of_adk
    from agent_eval.traces import is_traces, read_traces

    if not is_traces(document):
        hint = "an eval set holds no runs; name a result, or traces of `agents-cli eval generate`"
        raise InputError(Problem("is not a result of agent-eval, but an eval set", str(path), hint=hint))
    found = read_traces(document, str(path), path.name.removesuffix(".json"))
    records = tuple(record for case in found.cases for record in case.runs)
    return Stored(result_of_adk(found, path.name), path, kept=records)


def _of_journal(journal: Path, stem: str) -> Stored:
    """The result so far of an evaluation that left no summary."""
    from agent_eval.diagnose.diagnosis import explained
    from agent_eval.recompute import result_of_records  # not needed to show what has a summary

    result = result_of_records(_records(journal), stem)
    if result is None:
        raise InputError(Problem("holds no finished run", str(journal)))
    return Stored(explained(result, _records(journal)), journal, journal)


def _of_adk_result(content: bytes, path: Path) -> Stored:
    from agent_eval.diagnose.diagnosis import explained
    from agent_eval.recompute import result_of_adk
    from agent_eval.store.adk_reading import read_adk_result

    found = read_adk_result(content, str(path))
    records = tuple(record for case in found.cases for record in case.runs)
    result = explained(result_of_adk(found, path.name), records)
    return Stored(result, path, adk_results=(path,), kept=records)


def write_adk_results(stored: Stored, agent_folder: Path, app_name: str, eval_ids: Iterable[str]) -> Path:
    """Writes cases of a result as a file of ADK's, below the folder of the agent that played them.

    Raises:
        OSError: it cannot be written.
    """
    from agent_eval.recompute import run_status
    from agent_eval.store.adk_results import adk_document, write_adk_result

    wanted = set(eval_ids)
    records = (record for record in stored.records() if record.eval_id in wanted)
    document = adk_document(stored.result, records, app_name=app_name, status_of=run_status)
    return write_adk_result(document, agent_folder)
