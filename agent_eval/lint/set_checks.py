"""Checks of an eval set by itself (AE711 to AE726)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agent_eval.diagnose.call_diff import are_similar_names
from agent_eval.diagnose.calls import BUILT_IN_TOOLS, TRANSFER
from agent_eval.diagnose.grounds import Grounds, follows_from
from agent_eval.diagnose.wording import kind, listed, named, quoted, value
from agent_eval.diagnose.words import numbers
from agent_eval.lint.findings import Finding
from agent_eval.lint.sources import SetSource, Steps
from agent_eval.schema.patterns import checked_pattern, has_pattern
from agent_eval.schema.trace import FunctionCall, get_all_tool_calls, get_all_tool_responses


@dataclass(frozen=True, slots=True)
class PlacedCall:
    """An expected call and where it stands."""

    call: FunctionCall
    case: int
    place: Steps


def expected_calls(source: SetSource) -> list[PlacedCall]:
    """Every expected call of a set."""
    return [
        PlacedCall(call, case, source.at_turn(case, turn, "intermediate_data", "tool_uses", number))
        for case, one in enumerate(source.cases)
        for turn, invocation in enumerate(one.conversation or [])
        for number, call in enumerate(get_all_tool_calls(invocation.intermediate_data))
    ]


_ODD = frozenset('/\\:,"')


def odd_ids(source: SetSource) -> Iterator[Finding]:
    """Ids that look like paths, or that the command line cannot name."""
    ids: list[tuple[Steps, str]] = [(("eval_set_id",), source.eval_set.eval_set_id)]
    ids += [(source.at_case(index, "eval_id"), case.eval_id) for index, case in enumerate(source.cases)]
    for place, name in ids:
        odd = sorted(set(name) & _ODD)
        if name != name.strip():
            told = "begins or ends with a blank"
        elif name in (".", "..") or "../" in name or odd:
            told = f"has {listed([f'`{char}`' for char in odd]) or 'the form of a path'}"
        else:
            continue
        yield source.warning(
            "AE711",
            f"the id {quoted(name, 60)} {told}",
            place,
            hint="`EVALSET:case1,case2` cannot name it, and files are named by ids: letters, digits, - and _",
        )


def no_cases(source: SetSource) -> Iterator[Finding]:
    """An eval set of nothing."""
    if not source.cases:
        yield source.error("AE701", "the eval set has no cases", ("eval_cases",))


def silent_users(source: SetSource) -> Iterator[Finding]:
    """Turns in which the user says nothing."""
    for case, one in enumerate(source.cases):
        for turn, invocation in enumerate(one.conversation or []):
            if not any(part.model_dump(exclude_none=True) for part in invocation.user_content.parts or []):
                place = source.at_turn(case, turn, "user_content")
                yield source.warning("AE712", "the user says nothing in this turn", place)
        if one.conversation == []:
            yield source.error("AE712", "the conversation has no turn", source.at_case(case, "conversation"))


def bad_patterns(source: SetSource) -> Iterator[Finding]:
    """Patterns of expected arguments that cannot be used."""
    for placed in expected_calls(source):
        try:
            checked_pattern(placed.call.args)
        except ValueError as error:
            yield source.error("AE713", f"tool `{placed.call.name}`: {error}", (*placed.place, "args"))


def built_in_tools(source: SetSource) -> Iterator[Finding]:
    """Expected calls that never show."""
    for placed in expected_calls(source):
        if placed.call.name in BUILT_IN_TOOLS:
            yield source.warning(
                "AE715",
                f"`{placed.call.name}` runs inside the model, which reports no call of it",
                placed.place,
                hint="take it out of the expected calls; see AE108",
            )


def hand_overs(source: SetSource) -> Iterator[Finding]:
    """Hand-overs that no agent makes in this form."""
    for placed in expected_calls(source):
        args = placed.call.args or {}
        if placed.call.name == TRANSFER and "agent_name" not in args:
            has = f", not {named(args)}" if args else ""
            yield source.warning(
                "AE716", f"`{TRANSFER}` takes `agent_name`{has}", (*placed.place, "args"), hint="see AE109"
            )


def mixed_types(source: SetSource) -> Iterator[Finding]:
    """Arguments of a tool that are a number in one case and a text in another."""
    found: dict[tuple[str, str], list[tuple[str, Any, Steps]]] = {}
    for placed in expected_calls(source):
        for key, given in (placed.call.args or {}).items():
            if given is not None and not has_pattern(given):
                where = (*placed.place, "args", key)
                found.setdefault((placed.call.name or "", key), []).append((kind(given), given, where))
    for (tool, key), seen in found.items():
        for rare, given, where, common in _rare_kinds(seen):
            yield source.warning(
                "AE717",
                f"`{key}` of `{tool}` is {rare} here ({value(given)}), and {common} elsewhere",
                where,
                hint='`1` and `"1"` are different arguments; see AE104',
            )


def state_types(source: SetSource) -> Iterator[Finding]:
    """Values of the session's state that are a text in one case and a list in another."""
    found: dict[str, list[tuple[str, Any, Steps]]] = {}
    for index, case in enumerate(source.cases):
        for key, given in (case.session_input.state if case.session_input else {}).items():
            if given is not None:
                where = source.at_case(index, "session_input", "state", key)
                found.setdefault(key, []).append((kind(given), given, where))
    for key, seen in found.items():
        for rare, given, where, common in _rare_kinds(seen):
            yield source.warning(
                "AE718",
                f"`{key}` of the state is {rare} here ({value(given)}), and {common} in other cases",
                where,
                hint="give it the type that the agent works with; see AE402",
            )


def _rare_kinds(seen: list[tuple[str, Any, Steps]]) -> Iterator[tuple[str, Any, Steps, str]]:
    """The values that are not of the kind that most are of."""
    counts = Counter(what for what, _, _ in seen)
    common, most = counts.most_common(1)[0]
    if most == len(seen):
        return
    for what, given, where in seen:
        if what != common:
            yield what, given, where, common


_ABOUT = 0.7
"""The share of cases that makes a tool what the set is about."""
_FEWEST = 4
"""With fewer cases than these, a set is about nothing yet."""


def idle_cases(source: SetSource) -> Iterator[Finding]:
    """Cases that say nothing of calls, in a set that is about a tool."""
    talks = [index for index, case in enumerate(source.cases) if case.conversation]
    callers: dict[str, set[int]] = {}
    for placed in expected_calls(source):
        callers.setdefault(placed.call.name or "", set()).add(placed.case)
    about = [tool for tool, cases in callers.items() if len(cases) >= _ABOUT * len(talks)]
    if len(talks) < _FEWEST or not about:
        return
    calling = set().union(*callers.values())
    for index in talks:
        turns = source.cases[index].conversation or []
        if index not in calling and all(turn.intermediate_data is None for turn in turns):
            yield source.warning(
                "AE719",
                f"nothing is said of calls here, which means none, and most cases expect {named(about)}",
                source.at_case(index),
                hint="write the expected calls down, or an empty `tool_uses` if there are to be none",
            )


def rare_tools(source: SetSource) -> Iterator[Finding]:
    """Tool names that are nearly those of a tool that is expected more often."""
    placed = expected_calls(source)
    counts = Counter(one.call.name or "" for one in placed)
    for one in placed:
        name = one.call.name or ""
        if counts[name] > 1:
            continue
        for other, amount in counts.items():
            if amount > 1 and other != name and _is_slip(name, other):
                yield source.warning(
                    "AE720",
                    f"`{name}` is expected only here, and `{other}` {amount} times",
                    (*one.place, "name"),
                    hint=f"did you mean `{other}`?",
                )
                break


def _is_slip(name: str, other: str) -> bool:
    """Whether two names differ in spelling only, or by letters that changed places."""
    plain = [text.replace("_", "").casefold() for text in (name, other)]
    return are_similar_names(name, other) and (plain[0] == plain[1] or sorted(plain[0]) == sorted(plain[1]))


def middle_turns(source: SetSource) -> Iterator[Finding]:
    """Turns whose expected calls seem to have been forgotten."""
    for index, case in enumerate(source.cases):
        turns = case.conversation or []
        calling = [number for number, turn in enumerate(turns) if get_all_tool_calls(turn.intermediate_data)]
        for number, turn in enumerate(turns):
            if turn.intermediate_data is None and calling and calling[0] < number < calling[-1]:
                yield source.warning(
                    "AE714",
                    "the turns before and after expect calls, and this one says nothing of calls, which "
                    "means none",
                    source.at_turn(index, number),
                    hint="write its `intermediate_data`, with an empty `tool_uses` if none is right (AE107)",
                )


def ungrounded_references(source: SetSource) -> Iterator[Finding]:
    """Numbers of an expected answer that none of the expected tool responses has.

    Names may be general knowledge, so they are left to `hallucinations_v1`.
    """
    for index, case in enumerate(source.cases):
        outputs: list[Any] = []
        told: list[str] = [value(case.session_input.state, 100_000)] if case.session_input else []
        for number, turn in enumerate(case.conversation or []):
            outputs += [response.response for response in get_all_tool_responses(turn.intermediate_data)]
            told.append(turn.user_content.text)
            answer = turn.final_response.text if turn.final_response else ""
            if not outputs or not answer:
                continue
            told.append(value([call.args for call in get_all_tool_calls(turn.intermediate_data)], 100_000))
            grounds = Grounds(outputs, "\n".join(told))
            around = f"{turn.user_content.text}\n{answer}"
            lost = [
                number
                for number in numbers(answer)
                if not grounds.has_number(number) and not follows_from(number, around)
            ]
            if lost:
                yield source.warning(
                    "AE721",
                    f"the expected answer says {listed([quoted(fact) for fact in lost])}, which no expected "
                    "tool response has",
                    source.at_turn(index, number, "final_response"),
                    hint="renew one or the other; see AE208",
                )


CHECKS = (
    no_cases,
    odd_ids,
    silent_users,
    bad_patterns,
    middle_turns,
    built_in_tools,
    hand_overs,
    mixed_types,
    state_types,
    idle_cases,
    rare_tools,
    ungrounded_references,
)
