"""Eval set files -> `EvalSet`, in the current schema or an older list form."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from agent_eval import serde
from agent_eval.errors import InputError, Problem
from agent_eval.inputs import documents, legacy
from agent_eval.schema import trace
from agent_eval.schema.base import Many
from agent_eval.schema.evalset import (
    CASES,
    ConversationScenario,
    EvalCase,
    EvalSet,
    SessionInput,
    UserPersona,
)
from agent_eval.schema.trace import Invocation, Rubric

_MODELS = (
    EvalSet,
    EvalCase,
    ConversationScenario,
    SessionInput,
    UserPersona,
    Rubric,
    trace.Invocation,
    trace.IntermediateData,
    trace.InvocationEvents,
    trace.InvocationEvent,
    trace.Event,
    trace.Content,
    trace.Part,
    trace.FunctionCall,
    trace.FunctionResponse,
)

LARGE = 250_000
"""Of longer eval sets only the first bad case is told, and of it the first bad turn (characters)."""


class _LargeCase(EvalCase):
    conversation: Many[Invocation] | None = None


class _LargeSet(EvalSet):
    """Refused before millions of mistakes fill the memory."""

    eval_cases: Many[_LargeCase] = Field(validation_alias=CASES)  # type: ignore[assignment]  # only read


SUFFIXES = (".evalset.json", ".test.json")
"""Names by which eval sets are found; any other `.json` can be named."""


@dataclass(frozen=True, slots=True)
class LoadedEvalSet:
    """An eval set and the file it came from."""

    eval_set: EvalSet
    path: Path
    sha256: str


def load_eval_set(path: Path) -> LoadedEvalSet:
    """Reads an eval set file.

    Raises:
        InputError: the file cannot be read or is no eval set; everything wrong with it at once.
    """
    data = documents.read_bytes(path)
    eval_set = parse_eval_set(data, str(path), eval_set_id_of(path))
    return LoadedEvalSet(eval_set, path, hashlib.sha256(data).hexdigest())


def eval_set_id_of(path: Path) -> str:
    """The id that a list form gets: the file's name without its ending."""
    for suffix in (*SUFFIXES, ".json"):
        if path.name.endswith(suffix) and path.name != suffix:
            return path.name.removesuffix(suffix)
    return path.name


def parse_eval_set(data: bytes, file: str, eval_set_id: str) -> EvalSet:
    """The eval set in a file's bytes.

    Args:
        data: the bytes.
        file: the file's name, for errors.
        eval_set_id: the id of sets in a list form, which has none.

    Raises:
        InputError: no eval set; everything wrong with it at once.
    """
    text = documents.decode(data, file)
    document = documents.parse(text, file)
    if isinstance(document, str) and document.strip():  # encoded twice
        text, document = document, documents.parse(document, file)
    if isinstance(document, list):
        if legacy.is_case_list(document):
            eval_set = legacy.convert(document, eval_set_id, text, file)
        else:
            wrapped = f'{{"eval_set_id": {serde.to_json(eval_set_id).decode()}, "eval_cases": {text}}}'
            eval_set = _validated(wrapped, text, document, file, depth=1)
    elif isinstance(document, dict):
        eval_set = _validated(text, text, document, file)
    else:
        raise InputError(
            Problem(
                f"expected an eval set, got {documents.short(document)}",
                file,
                hint="an eval set is an object with `eval_set_id` and `eval_cases`",
            )
        )
    problems = documents.few(_inconsistencies(eval_set, text, file))
    if problems:
        raise InputError(*problems)
    return eval_set


def _validated(json_text: str, text: str, document: Any, file: str, depth: int = 0) -> EvalSet:
    try:
        if len(json_text) > LARGE:
            _LargeSet.model_validate_json(json_text)
        return EvalSet.model_validate_json(json_text)
    except ValidationError as error:
        raise documents.invalid(error, _MODELS, text, document, file, depth) from None


def _inconsistencies(eval_set: EvalSet, text: str, file: str) -> Iterator[Problem]:
    """What each value alone cannot tell: empty and repeated ids."""

    def problem(message: str, *path: str | int, hint: str | None = None) -> Problem:
        return Problem(message, file, serde.path_text(path), serde.line_of(text, path), hint)

    if not eval_set.eval_set_id:
        yield problem("the id is empty", "eval_set_id")
    first: dict[str, int] = {}
    for index, case in enumerate(eval_set.eval_cases):
        place = ("eval_cases", index)
        if not case.eval_id:
            yield problem("the id is empty", *place, "eval_id")
        elif case.eval_id in first:
            yield problem(
                f"duplicate eval id `{case.eval_id}`",
                *place,
                "eval_id",
                hint=f"eval_cases[{first[case.eval_id]}] has it already; each case needs an id of its own",
            )
        first.setdefault(case.eval_id, index)
        for turn, invocation in enumerate(case.conversation or ()):
            yield from (
                problem(f"duplicate rubric id `{rubric_id}`", *place, "conversation", turn, "rubrics")
                for rubric_id in _repeated([*(case.rubrics or ()), *(invocation.rubrics or ())])
            )
        if not case.conversation:
            yield from (
                problem(f"duplicate rubric id `{rubric_id}`", *place, "rubrics")
                for rubric_id in _repeated(case.rubrics or [])
            )


def _repeated(rubrics: list[Rubric]) -> list[str]:
    counts = Counter(rubric.rubric_id for rubric in rubrics)
    return [rubric_id for rubric_id, count in counts.items() if count > 1]


def case_sha256(case: EvalCase) -> str:
    """The digest by which an edited case is noticed."""
    return hashlib.sha256(serde.model_to_json(case)).hexdigest()
