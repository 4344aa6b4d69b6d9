"""The old list forms of an eval set -> the current one.

[{"name", "data": [{"query", "expected_tool_use", "reference", ...}], "initial_session"}]   cases
[{"query", "expected_tool_use", "reference"}, ...]                                          turns of one case
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_eval import serde
from agent_eval.errors import InputError, Problem, did_you_mean
from agent_eval.inputs.documents import MAX_PROBLEMS, short
from agent_eval.schema.evalset import EvalCase, EvalSet, SessionInput
from agent_eval.schema.trace import Content, FunctionCall, IntermediateData, Invocation, Part


def is_case_list(document: list[Any]) -> bool:
    """Whether a list is in an old form rather than a bare list of current cases."""
    return not any(
        isinstance(item, dict) and {"eval_id", "evalId"} & item.keys() and "data" not in item
        for item in document
    )


def convert(document: list[Any], eval_set_id: str, text: str, file: str) -> EvalSet:
    """The eval set that an old list form says.

    Raises:
        InputError: something in it is not of that form; everything wrong with it at once.
    """
    reader = _Reader(text, file)
    if any(isinstance(item, dict) and "query" in item and "data" not in item for item in document):
        cases = [EvalCase(eval_id=eval_set_id, conversation=reader.turns(document, ()))]
    else:
        cases = [reader.case(item, (index,)) for index, item in enumerate(document)]
    if reader.problems:
        raise InputError(*reader.problems)
    return EvalSet(eval_set_id=eval_set_id, name=eval_set_id, eval_cases=cases)


class _Reader:
    """Reads values of the old form, noting what does not fit."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self.problems: list[Problem] = []

    def case(self, item: Any, at: tuple[str | int, ...]) -> EvalCase:
        fields = self._object(item, at)
        return EvalCase(
            eval_id=self._string(fields, "name", at),
            conversation=self.turns(self._list(fields, "data", at, required=True), (*at, "data")),
            session_input=self._session(fields, at),
        )

    def turns(self, items: list[Any], at: tuple[str | int, ...]) -> list[Invocation]:
        return [self._turn(item, index, (*at, index)) for index, item in enumerate(items)]

    def _turn(self, item: Any, index: int, at: tuple[str | int, ...]) -> Invocation:
        fields = self._object(item, at)
        calls = self._list(fields, "expected_tool_use", at)
        replies = self._list(fields, "expected_intermediate_agent_responses", at)
        reference = fields.get("reference", "")
        if reference is not None and not isinstance(reference, str):
            self._note(f"expected text, got {short(reference)}", (*at, "reference"))
            reference = None
        return Invocation(
            invocation_id=f"turn-{index + 1}",
            user_content=Content(parts=[Part(text=self._string(fields, "query", at))], role="user"),
            final_response=Content(parts=[Part(text=reference)], role="model"),
            intermediate_data=IntermediateData(
                tool_uses=[
                    self._call(call, (*at, "expected_tool_use", number)) for number, call in enumerate(calls)
                ],
                intermediate_responses=[
                    self._reply(reply, (*at, "expected_intermediate_agent_responses", number))
                    for number, reply in enumerate(replies)
                ],
            ),
        )

    def _call(self, item: Any, at: tuple[str | int, ...]) -> FunctionCall:
        fields = self._object(item, at)
        if "tool_input" not in fields:
            self._missing("tool_input", fields, at)
        args = fields.get("tool_input")
        if args is not None and not isinstance(args, dict):
            self._note(f"expected an object, got {short(args)}", (*at, "tool_input"))
            args = None
        return FunctionCall(name=self._string(fields, "tool_name", at, nullable=True), args=args)

    def _reply(self, item: Any, at: tuple[str | int, ...]) -> tuple[str, list[Part]]:
        fields = self._object(item, at)
        return self._string(fields, "author", at), [Part(text=self._string(fields, "text", at))]

    def _session(self, fields: Mapping[str, Any], at: tuple[str | int, ...]) -> SessionInput | None:
        if "initial_session" not in fields:
            return None
        at = (*at, "initial_session")
        session = self._object(fields["initial_session"], at)
        if not session:
            return None
        state = session.get("state", {})
        return SessionInput(
            app_name=self._string({"app_name": "", **session}, "app_name", at),
            user_id=self._string({"user_id": "", **session}, "user_id", at),
            state=dict(self._object(state, (*at, "state"))),
        )

    def _object(self, value: Any, at: tuple[str | int, ...]) -> Mapping[str, Any]:
        if isinstance(value, dict):
            return value
        self._note(f"expected an object, got {short(value)}", at)
        return {}

    def _list(
        self, fields: Mapping[str, Any], key: str, at: tuple[str | int, ...], *, required: bool = False
    ) -> list[Any]:
        if key not in fields:
            if required:
                self._missing(key, fields, at)
            return []
        value = fields[key]
        if isinstance(value, list) or value in ({}, ""):  # ADK walks over whatever is there
            return list(value)
        self._note(f"expected a list, got {short(value)}", (*at, key))
        return []

    def _string(
        self, fields: Mapping[str, Any], key: str, at: tuple[str | int, ...], *, nullable: bool = False
    ) -> str:
        if key not in fields:
            self._missing(key, fields, at)
            return ""
        value = fields[key]
        if not isinstance(value, str) and not (nullable and value is None):
            self._note(f"expected text, got {short(value)}", (*at, key))
            return ""
        return value or ""

    def _missing(self, key: str, fields: Mapping[str, Any], at: tuple[str | int, ...]) -> None:
        if not fields and self.problems:
            return  # what stands there is no object, and that has been said
        slip = next((other for other in fields if did_you_mean(other, (key,))), None)
        hint = f"`{slip}`: did you mean `{key}`?" if slip else None
        self._note("required, but not there", (*at, key), hint)

    def _note(self, message: str, at: tuple[str | int, ...], hint: str | None = None) -> None:
        if len(self.problems) == MAX_PROBLEMS:
            raise InputError(*self.problems, Problem("and more like these", self._file))
        place = serde.path_text(at) or None
        self.problems.append(Problem(message, self._file, place, serde.line_of(self._text, at), hint))
