"""Scenarios on their way into an eval set: the files they come from, their cases, the eval set with them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from agent_eval import clock, serde
from agent_eval.errors import InputError, Problem
from agent_eval.inputs import documents, legacy
from agent_eval.inputs.evalsets import eval_set_id_of, parse_eval_set
from agent_eval.schema.base import Value
from agent_eval.schema.evalset import (
    ConversationScenario,
    ConversationScenarios,
    EvalCase,
    SessionInput,
    UserBehavior,
    UserPersona,
)

T = TypeVar("T", bound=Value)


def load_scenarios(path: Path) -> list[ConversationScenario]:
    """The scenarios in a file of the form `{"scenarios": [...]}`.

    Raises:
        InputError: the file cannot be read, is of another form, or holds none.
    """
    scenarios = _load(path, ConversationScenarios).scenarios
    if not scenarios:
        raise InputError(Problem("holds no scenarios", str(path), "scenarios"))
    return scenarios


def load_session_input(path: Path) -> SessionInput:
    """The session in a file, as a case has it under `session_input`.

    Raises:
        InputError: the file cannot be read, or is of another form.
    """
    return _load(path, SessionInput)


def _load(path: Path, model: type[T]) -> T:
    file = str(path)
    text = documents.decode(documents.read_bytes(path), file)
    document = documents.parse(text, file)
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        known = (model, ConversationScenario, UserPersona, UserBehavior)
        raise documents.invalid(error, known, text, document, file) from None


def case_of(scenario: ConversationScenario, session: SessionInput | None) -> EvalCase:
    """A scenario as a case. Its id is made of the scenario, so that the same one has the same id."""
    return EvalCase(
        eval_id=scenario_id(scenario),
        conversation_scenario=scenario,
        session_input=session,
        creation_timestamp=round(clock.now(), 3),
    )


def scenario_id(scenario: ConversationScenario) -> str:
    """The id that ADK gives to the case of a scenario, unless a persona is named by its id alone."""
    text = json.dumps(scenario.model_dump(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class Extended:
    """An eval set file with cases added to it."""

    data: bytes
    added: list[str]
    """Ids of the cases that are new."""
    known: list[str]
    """Ids that the set had already; its cases of these ids stay as they are."""


def with_cases(data: bytes | None, path: Path, cases: Sequence[EvalCase]) -> Extended:
    """An eval set with cases added at its end. What was in the file stays as it is, but for the layout.

    Args:
        data: the file's bytes; None for a new eval set.
        path: its name, which tells the id of a new one.
        cases: the cases; those whose id is in the set already are left out.

    Raises:
        InputError: the file is no eval set that can be added to.
    """
    known = [] if data is None else [case.eval_id for case in _parsed(data, path)]
    document, listed = _document(data, path)
    added: dict[str, EvalCase] = {}
    skipped = []
    for case in cases:
        if case.eval_id in known or case.eval_id in added:
            skipped.append(case.eval_id)
        else:
            added[case.eval_id] = case
    listed += [serde.from_json(serde.model_to_json(case, compact=True)) for case in added.values()]
    extended = serde.rewritten(document)
    _parsed(extended, path)
    return Extended(extended, list(added), skipped)


def _parsed(data: bytes, path: Path) -> list[EvalCase]:
    return parse_eval_set(data, str(path), eval_set_id_of(path)).eval_cases


def _document(data: bytes | None, path: Path) -> tuple[Any, list[Any]]:
    """The document, and the list in it that holds the cases.

    Raises:
        InputError: it has no such list.
    """
    if data is None:
        cases: list[Any] = []
        return {"eval_set_id": eval_set_id_of(path), "eval_cases": cases}, cases
    document = documents.parse(documents.decode(data, str(path)), str(path))
    if isinstance(document, dict):
        listed = document.get("eval_cases", document.get("evalCases"))
        if isinstance(listed, list):
            return document, listed
    if isinstance(document, list) and not legacy.is_case_list(document):
        return document, document
    told = "cases cannot be added to this form of an eval set"
    raise InputError(Problem(told, str(path), hint="it needs `eval_set_id` and `eval_cases`"))
