"""Rules about the ready-made checks (AE113 to AE117, AE214 to AE217)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from agent_eval import serde
from agent_eval.diagnose.base import Clue, Kind, Level, Rule
from agent_eval.diagnose.call_diff import are_similar_names
from agent_eval.diagnose.evidence import Evidence
from agent_eval.diagnose.wording import calls, count, cut, listed, named, quoted, value
from agent_eval.diagnose.words import numbers, same_number
from agent_eval.schema.patterns import matches
from agent_eval.schema.trace import FunctionCall


def _made(evidence: Evidence) -> list[FunctionCall]:
    return [one for turn in evidence.run.turns for one in turn.calls]


def required_tool(evidence: Evidence) -> Iterator[Clue]:
    """Tools that must be called, and were not."""
    if evidence.name != "required_tools_v1":
        return
    made = list(dict.fromkeys(one.name or "" for one in _made(evidence)))
    gone = [tool for tool in evidence.criterion.get("tools", ()) if tool not in made]
    if not gone:
        return
    near = [name for name in made for tool in gone if are_similar_names(tool, name)]
    did = f"it called {named(made)}" if made else "it called no tool at all"
    change = (
        f"say in the instruction when to call {named(gone)}, and check that the agent has it among its tools"
    )
    if near:
        change = f"is `{gone[0]}` the name of the function? The agent has called {named(near)}"
    yield Clue(
        f"{named(gone)} must be called, and was not in the whole conversation; {did}", change, Level.WHOLE
    )


def forbidden_tool(evidence: Evidence) -> Iterator[Clue]:
    """Tools that must not be called, and were."""
    if evidence.name != "forbidden_tools_v1":
        return
    forbidden = evidence.criterion.get("tools", ())
    for turn in evidence.run.turns:
        made = [one for one in turn.calls if one.name in forbidden]
        if made:
            yield Clue(
                f"the agent called {calls(made)}, which is forbidden",
                f"say in the instruction when not to call {named(one.name or '' for one in made)}, or take "
                "it from the agent's tools",
                Level.WHOLE,
                turn.number,
            )


def tool_arguments(evidence: Evidence) -> Iterator[Clue]:
    """Calls whose arguments are not as the check has them."""
    wanted: dict[str, dict[str, Any]] = evidence.criterion.get("tools", {})
    if evidence.name != "tool_args_v1" or not isinstance(wanted, dict):
        return
    for turn in evidence.run.turns:
        for one in turn.calls:
            args = one.args or {}
            wrong = [
                f"`{key}` = {value(args[key])}, expected {value(pattern)}"
                if key in args
                else f"no `{key}`, expected {value(pattern)}"
                for key, pattern in wanted.get(one.name or "", {}).items()
                if key not in args or not matches(pattern, args[key])
            ]
            if wrong:
                yield Clue(
                    f"`{one.name}` was called with {listed(wrong)}",
                    "say in the tool's description what the argument takes, or widen the pattern in the "
                    "config",
                    Level.WHOLE,
                    turn.number,
                )


_LIMITS = {
    "max_tool_calls_v1": ("tool calls", "look at the calls for repetitions; let one tool do what several do"),
    "max_turns_v1": ("turns", "let the agent ask for all it needs at once"),
    "max_duration_v1": ("seconds", "see in the journal whether models or tools take the time"),
    "max_tokens_v1": (
        "tokens",
        "shorten instructions and tool results; a smaller thinking budget helps most",
    ),
    "max_cost_v1": ("in price", "shorten instructions and tool results, or take a cheaper model"),
}


def over_limit(evidence: Evidence) -> Iterator[Clue]:
    """A limit on the whole conversation."""
    metric = evidence.metric
    if metric is None or metric.score is None or metric.threshold is None or evidence.name not in _LIMITS:
        return
    unit, change = _LIMITS[evidence.name]
    most = ""
    if evidence.name == "max_tool_calls_v1":
        called = Counter(one.name for one in _made(evidence)).most_common()
        most = "; " + listed([f"`{name}` {count(times, 'time')}" for name, times in called])
    yield Clue(
        f"{metric.score:g} {unit}, at most {metric.threshold:g} {'is' if unit == 'in price' else 'are'} "
        f"allowed{most}",
        f"{change}; or raise the threshold of `{evidence.name}`",
        Level.WHOLE,
    )


def final_state(evidence: Evidence) -> Iterator[Clue]:
    """A final state that is not as the case says."""
    state = [f"`{key}` = {value(given, 40)}" for key, given in evidence.run.state.items()]
    has = f"it had {listed(state, 4)}" if state else "it was empty"
    yield Clue(
        f"the session's state at the end is not as `final_session_state` of the case says; {has}",
        "compare it with the case: a tool or callback that should write the state was not reached or wrote "
        'something else; keys that do not matter are left out under `"match": "subset"`',
        Level.PART,
    )


def text_missing(evidence: Evidence) -> Iterator[Clue]:
    """Texts that each answer must contain."""
    if evidence.name != "response_contains_v1":
        return
    exact = bool(evidence.criterion.get("case_sensitive"))
    for turn in evidence.failed_turns:
        fold = str if exact else str.casefold
        gone = [text for text in evidence.criterion.get("texts", ()) if fold(text) not in fold(turn.answer)]
        if not gone or not turn.answer:
            continue
        other_case = [text for text in gone if text.casefold() in turn.answer.casefold()]
        change = "say in the instruction what an answer has to contain, or correct the texts in the config"
        if other_case:
            change = f"{quoted(other_case[0], 40)} is there in another case: leave `case_sensitive` out"
        yield Clue(
            f"the answer does not contain {listed([quoted(text, 40) for text in gone])}: "
            f"{quoted(turn.answer, 80)}",
            change,
            Level.PART,
            turn.number,
        )


def pattern_missing(evidence: Evidence) -> Iterator[Clue]:
    """An expression that is not found in the answer."""
    pattern = evidence.criterion.get("pattern")
    if evidence.name != "response_regex_v1" or not isinstance(pattern, str):
        return
    for turn in evidence.failed_turns:
        if not turn.answer or re.search(pattern, turn.answer):
            continue
        change = "correct the expression, or say in the instruction which form the answer must have"
        if re.search(pattern, turn.answer, re.IGNORECASE):
            change = "it is found where case does not count: begin the expression with `(?i)`"
        yield Clue(
            f"`{cut(pattern, 60)}` is not found in {quoted(turn.answer, 80)}", change, Level.PART, turn.number
        )


def not_the_schema(evidence: Evidence) -> Iterator[Clue]:
    """An answer that is no JSON, or not as the schema wants it."""
    if evidence.name != "response_json_schema_v1":
        return
    for turn in evidence.failed_turns:
        if not turn.answer:
            continue
        text = turn.answer.strip()
        if fenced := re.fullmatch(r"```(?:json)?\s*(.*?)\s*```", text, re.DOTALL):
            text = fenced[1]
        try:
            found = json.loads(text)
        except ValueError as error:
            seen = f"the answer is no JSON ({error}): {quoted(turn.answer, 80)}"
            change = "set `output_schema` on the agent, or tell it to answer with JSON and nothing around it"
        else:
            told = _against(found, evidence.criterion.get("json_schema"))
            seen = f"the answer is JSON, but does not meet the schema: {told}"
            change = "set the same schema as `output_schema` on the agent, or correct the one in the config"
        yield Clue(seen, change, Level.PART, turn.number)


def _against(found: Any, schema: Any) -> str:
    """The first thing that a value and a schema disagree on."""
    if not isinstance(schema, dict):
        return value(found, 100)
    error = next(serde.schema_validator(schema).iter_errors(found), None)
    where = f"at `{'.'.join(map(str, error.absolute_path))}`: " if error and error.absolute_path else ""
    return where + cut(error.message, 120) if error else value(found, 100)


def numbers_missing(evidence: Evidence) -> Iterator[Clue]:
    """Numbers of the expected answer that the answer does not have."""
    if evidence.name != "response_numbers_v1":
        return
    for turn in evidence.failed_turns:
        there = numbers(turn.answer)
        gone = [
            number
            for number in numbers(turn.expected_answer)
            if not any(same_number(number, other) for other in there)
        ]
        if not gone or not turn.answer:
            continue
        has = f"it has {listed(there)}" if there else "it has none"
        yield Clue(
            f"the answer does not have the expected {listed(gone)}; {has}",
            "correct the agent's reckoning or the expected answer; `tolerance` allows for rounding",
            Level.PART,
            turn.number,
        )


RULES = (
    Rule("AE113", frozenset({Kind.TOOL_CHECK}), required_tool),
    Rule("AE114", frozenset({Kind.TOOL_CHECK}), forbidden_tool),
    Rule("AE115", frozenset({Kind.TOOL_CHECK}), tool_arguments),
    Rule("AE116", frozenset({Kind.LIMIT}), over_limit),
    Rule("AE117", frozenset({Kind.STATE}), final_state),
    Rule("AE214", frozenset({Kind.TEXT_CHECK}), text_missing),
    Rule("AE215", frozenset({Kind.TEXT_CHECK}), pattern_missing),
    Rule("AE216", frozenset({Kind.TEXT_CHECK}), not_the_schema),
    Rule("AE217", frozenset({Kind.TEXT_CHECK}), numbers_missing),
)
