"""How files are written down: what ADK refuses, and keys that mean nothing (AE702, AE703)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel

from agent_eval import serde
from agent_eval.errors import did_you_mean
from agent_eval.inputs.documents import snake_case
from agent_eval.lint.findings import Edit, Finding
from agent_eval.lint.sources import ConfigSource, Form, SetSource, Source, Steps
from agent_eval.schema import trace
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.evalset import EvalCase, EvalSet, SessionInput
from agent_eval.schema.multi_run import MultiRunConfig

_REFUSED = "is read here, and refused by `adk eval`"


def adk_refuses(source: SetSource | ConfigSource) -> Iterator[Finding]:
    """Forms whose meaning is clear and that ADK does not read."""
    if source.has_mark:
        yield source.warning("AE702", f"a byte order mark {_REFUSED}", fix=(Edit(0, 1, ""),))
    if isinstance(source, SetSource):
        yield from _form(source)
        yield from _spelling(source)


def _form(source: SetSource) -> Iterator[Finding]:
    if source.is_encoded_twice:
        inner = serde.to_json(source.document, indent=True).decode() + "\n"
        yield source.warning(
            "AE702", f"an eval set inside of a text (encoded twice) {_REFUSED}", fix=_whole(source, inner)
        )
    elif source.form is Form.FLAT_LIST:
        value = source.eval_set.model_dump(mode="json", by_alias=False, exclude_unset=True, exclude_none=True)
        yield source.warning(
            "AE702",
            f"{Form.FLAT_LIST.value} {_REFUSED}",
            hint="`AgentEvaluator` of ADK reads it",
            fix=_whole(source, serde.to_json(value, indent=True).decode() + "\n"),
        )
    elif source.form is Form.BARE_LIST:
        begin, end = _extent(source)
        eval_set_id = serde.to_json(source.eval_set.eval_set_id).decode()
        yield source.warning(
            "AE702",
            f"{Form.BARE_LIST.value} {_REFUSED}",
            fix=(
                Edit(begin, begin, f'{{\n  "eval_set_id": {eval_set_id},\n  "eval_cases": '),
                Edit(end, end, "\n}"),
            ),
        )


def _whole(source: Source, text: str) -> tuple[Edit, ...]:
    """The whole text replaced; -1 stands for its end."""
    return (Edit(0, -1, text),)


def _extent(source: Source) -> tuple[int, int]:
    """Where the document begins and ends in the text."""
    end = len(source.text.rstrip())
    return len(source.text) - len(source.text.lstrip()), end


def _spelling(source: SetSource) -> Iterator[Finding]:
    """The set's own keys in camelCase."""
    if source.form is not Form.CURRENT:
        return
    for key in source.document:
        name = snake_case(key)
        if key == name or name not in ("eval_set_id", "eval_cases"):
            continue
        span = serde.json_span(source.text, (key,))
        fix = (Edit(span[0], span[0] + len(serde.to_json(key).decode()), f'"{name}"'),) if span else ()
        yield source.warning("AE702", f"`{key}` {_REFUSED}: it wants `{name}`", (key,), fix=fix)


def unknown_keys(source: SetSource | ConfigSource) -> Iterator[Finding]:
    """Keys that are kept or passed over, and mean nothing."""
    document = source.document
    if isinstance(source, ConfigSource):
        yield from _unknown(source, document, (), (EvalConfig,), "$")
        return
    if source.form is Form.CURRENT:
        yield from _unknown(source, document, (), (EvalSet,), "$")
    if source.form not in (Form.CURRENT, Form.BARE_LIST):
        return
    for index in range(len(source.cases)):
        place = source.at_case(index)
        yield from _unknown(source, _at(source, place), place, (EvalCase,))
        session = (*place, "session_input")
        yield from _unknown(source, _at(source, session), session, (SessionInput,))
        for turn in range(len(source.cases[index].conversation or [])):
            step = source.at_turn(index, turn, "intermediate_data", "invocation_events")
            for number, event in enumerate(_at(source, step) or []):
                if isinstance(event, dict):
                    yield from _unknown(source, event, (*step, number), (trace.InvocationEvent,), "_")


def _at(source: Source, path: Steps) -> Any:
    node = source.document
    for step in path:
        if isinstance(node, dict):
            node = next((node[key] for key in node if snake_case(str(key)) == step), None)
        else:
            node = node[step] if isinstance(node, list) and isinstance(step, int) else None
    return node


_ELSEWHERE = {
    name: f"it belongs into `multi_run_config`: {{`{name}`: ...}}" for name in MultiRunConfig.model_fields
} | {"judge_model": "it belongs into the criterion's `judge_model_options`"}
"""Keys that have a place somewhere else."""


def _unknown(
    source: Source, given: Any, place: Steps, models: Iterable[type[BaseModel]], passed_over: str = ""
) -> Iterator[Finding]:
    """The keys of an object that no model has. Those that begin with `passed_over` are notes."""
    known = [name for model in models for name in model.model_fields]
    for key in given if isinstance(given, dict) else ():
        name = snake_case(str(key))
        if name in known or (passed_over and str(key).startswith(passed_over)):
            continue
        yield source.warning(
            "AE703",
            f"`{key}` means nothing here, and is passed over",
            (*place, key),
            hint=_ELSEWHERE.get(name) or did_you_mean(name, known),
        )
