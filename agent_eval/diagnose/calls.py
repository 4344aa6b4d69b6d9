"""Rules about tool calls that are not the expected ones (AE101 to AE112)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from agent_eval.diagnose.base import Clue, Kind, Level, Rule
from agent_eval.diagnose.call_diff import ArgumentChange, CallDiff, argument_changes, diffs_of
from agent_eval.diagnose.evidence import Evidence, Turn
from agent_eval.diagnose.wording import call, calls, listed, named, quoted, typed, value
from agent_eval.schema.calls import IgnoredArgs, trajectory_matches
from agent_eval.schema.config import MatchType, TrajectoryCriterion
from agent_eval.schema.patterns import has_pattern
from agent_eval.schema.trace import FunctionCall, FunctionResponse

BUILT_IN_TOOLS = (
    "google_search",
    "google_maps",
    "url_context",
    "enterprise_web_search",
    "vertex_ai_search",
    "preload_memory",
    "code_execution",
)
"""Tools that run inside the model or its request, and so never show as calls."""

TRANSFER = "transfer_to_agent"
"""The tool by which ADK agents hand over to one another."""


def ignored_args(evidence: Evidence) -> IgnoredArgs:
    """The arguments that the criterion leaves out."""
    given = evidence.criterion.get("ignore_args", False)
    return given if isinstance(given, bool | list) else False


@lru_cache(maxsize=1)
def _diffs(evidence: Evidence) -> list[CallDiff]:
    """The differences of the turns that failed; calls that moved may have moved to any turn.

    Every rule here asks for them, one after the other.
    """
    failed = {turn.number for turn in evidence.failed_turns}
    every = diffs_of(evidence.run.turns, ignored_args(evidence))
    return [diff for diff in every if diff.turn.number in failed]


def _would_match(turn: Turn, match_type: MatchType, evidence: Evidence) -> bool:
    return trajectory_matches(turn.calls, turn.expected_calls, match_type, ignored_args(evidence))


def _allowing(turn: Turn, evidence: Evidence) -> MatchType | None:
    """The strictest match type under which the turn's calls match."""
    kinds = (MatchType.IN_ORDER, MatchType.ANY_ORDER)
    return next((kind for kind in kinds if _would_match(turn, kind, evidence)), None)


def _hidden(evidence: Evidence) -> frozenset[str]:
    """The built-in tools. One that was called in the run is none: it is a function of the same name."""
    called = {one.name for turn in evidence.run.turns for one in turn.calls}
    return frozenset(BUILT_IN_TOOLS) - called


def _others(made: Sequence[FunctionCall], evidence: Evidence) -> list[FunctionCall]:
    """The calls that no rule of its own looks after."""
    looked_after = {TRANSFER, *_hidden(evidence)}
    return [one for one in made if one.name not in looked_after]


def _match_type(evidence: Evidence) -> MatchType:
    """The criterion's; the default where it is not known."""
    given = {"threshold": 1.0, "match_type": evidence.criterion.get("match_type", MatchType.EXACT)}
    try:
        return TrajectoryCriterion.model_validate(given).match_type
    except ValidationError:  # of a config that somebody else has written
        return MatchType.EXACT


def _are_extras_allowed(evidence: Evidence) -> bool:
    """Whether the criterion allows other calls in between."""
    return _match_type(evidence) is not MatchType.EXACT


def extra_calls(evidence: Evidence) -> Iterator[Clue]:
    """Calls besides the expected ones."""
    for diff in [] if _are_extras_allowed(evidence) else _diffs(evidence):
        turn, extra = diff.turn, _others(diff.extra, evidence)
        if not extra or _says_nothing(turn, evidence):
            continue
        allowed = _allowing(turn, evidence)
        who = named(one.name or "" for one in extra)
        expected = "besides the expected calls" if turn.expected_calls else "no call is expected, and"
        change = f"tell the agent when not to call {who}"
        if allowed:
            harmless = f"if such calls do no harm, set `match_type` to `{allowed.value}`, which allows them"
            change = f"{harmless}; else {change}"
        yield Clue(
            f"{expected} the agent called {calls(extra)}",
            change,
            Level.WHOLE if allowed else Level.ASIDE,
            turn.number,
        )


def other_order(evidence: Evidence) -> Iterator[Clue]:
    """The right calls in another order."""
    for diff in _diffs(evidence):
        turn = diff.turn
        if _allowing(turn, evidence) is not MatchType.ANY_ORDER:
            continue
        yield Clue(
            f"the expected calls came in another order: {calls(turn.calls)} instead of "
            f"{calls(turn.expected_calls)}",
            "set `match_type` to `ANY_ORDER` if the order does not matter (parallel calls come in any "
            "order); else say in the instruction what comes first",
            Level.PART if diff.extra else Level.WHOLE,
            turn.number,
        )


def wrong_arguments(evidence: Evidence) -> Iterator[Clue]:
    """Arguments that are not as expected."""
    for diff, changed in _changed(evidence):
        others = [(wanted, changes) for wanted, changes in changed if not _all_types(changes)]
        if not others:
            continue
        told = list(dict.fromkeys(_told(wanted, changes) for wanted, changes in others))
        yield Clue(listed(told, 2), _mend(others), _level(diff, len(others)), diff.turn.number)


def argument_type(evidence: Evidence) -> Iterator[Clue]:
    """The right value in another type."""
    for diff, changed in _changed(evidence):
        alike = [(wanted, changes) for wanted, changes in changed if _all_types(changes)]
        if not alike:
            continue
        told = [
            f"`{wanted.name}` got `{change.key}` = {typed(change.got)}, expected {typed(change.wanted)}"
            for wanted, changes in alike
            for change in changes
        ]
        yield Clue(
            f"{listed(told)}: the same value in another type",
            "write the expected value in the type that the tool's signature has; if the agent is wrong, "
            "annotate the tool's parameter with its type, which the model sees",
            _level(diff, len(alike)),
            diff.turn.number,
        )


Changed = tuple[FunctionCall, list[ArgumentChange]]


def _changed(evidence: Evidence) -> Iterator[tuple[CallDiff, list[Changed]]]:
    """The calls of each turn that were made with other arguments, transfers included."""
    ignored = ignored_args(evidence)
    for diff in _diffs(evidence):
        if diff.altered:
            yield (
                diff,
                [(wanted, list(argument_changes(wanted, made, ignored))) for wanted, made in diff.altered],
            )


def _all_types(changes: list[ArgumentChange]) -> bool:
    return bool(changes) and all(change.is_type_only for change in changes)


def _told(wanted: FunctionCall, changes: list[ArgumentChange]) -> str:
    return f"`{wanted.name}` was called with {listed([_change(change) for change in changes])}"


def _change(change: ArgumentChange) -> str:
    if change.is_missing:
        return f"no `{change.key}`, expected {value(change.wanted)}"
    if change.is_extra:
        return f"`{change.key}` = {value(change.got)}, which is not expected"
    if change.is_type_only:
        return f"`{change.key}` = {typed(change.got)}, expected {typed(change.wanted)}"
    return f"`{change.key}` = {value(change.got)}, expected {value(change.wanted)}"


def _mend(changed: list[Changed]) -> str:
    every = [change for _, changes in changed for change in changes]
    keys = list(dict.fromkeys(change.key for change in every))
    varying = 'where a value may vary, expect a pattern such as `{"$regex": "..."}`'
    if any(has_pattern(change.wanted) for change in every):
        varying = "check the pattern"
    return (
        "say in the tool's description what the argument takes, or correct the expected value; "
        f'{varying}, or leave it out with `"ignore_args": {value(keys)}`'
    )


def _level(diff: CallDiff, explained: int) -> Level:
    """Whether these calls, once right, would leave nothing wrong."""
    rest = len(diff.altered) - explained + len(diff.missing) + len(diff.renamed) + len(diff.moved)
    return Level.PART if rest or diff.extra else Level.WHOLE


def missing_calls(evidence: Evidence) -> Iterator[Clue]:
    """Expected calls that were not made, though others were."""
    for diff in _diffs(evidence):
        missing = _others(diff.missing, evidence)
        if not missing or not diff.turn.calls:
            continue
        alone = not (diff.extra or diff.altered or diff.renamed or diff.moved or _failures(diff.turn))
        yield Clue(
            f"{calls(missing)} {'was' if len(missing) == 1 else 'were'} expected and not called; "
            f"the agent called {calls(diff.turn.calls)}",
            f"say in the instruction when to call {named(one.name or '' for one in missing)}, and check that "
            "the agent has it among its tools; or take it out of the expected calls",
            Level.WHOLE if alone else Level.PART,
            diff.turn.number,
        )


def no_calls(evidence: Evidence) -> Iterator[Clue]:
    """No call at all where some are expected."""
    for turn in evidence.failed_turns:
        wanted = _others(turn.expected_calls, evidence)
        if turn.calls or not wanted or _has_moved(turn, evidence):
            continue
        said = f"answered {quoted(turn.answer, 80)}" if turn.answer else "gave no answer"
        ever = any(other.calls for other in evidence.run.turns)
        yield Clue(
            f"the agent called no tool{'' if ever else ' in the whole conversation'}, where {calls(wanted)} "
            f"{'is' if len(wanted) == 1 else 'are'} expected, and {said}",
            "say in the instruction that the answer has to come from the tool; models that think skip tools "
            "more often: `tool_config` with the mode `ANY` forces a call",
            Level.WHOLE if evidence.kind is Kind.CALLS else Level.PART,
            turn.number,
        )


def _has_moved(turn: Turn, evidence: Evidence) -> bool:
    """Whether a call that is expected in the turn was made in another one."""
    return any(diff.moved for diff in _diffs(evidence) if diff.turn.number == turn.number)


def nothing_expected(evidence: Evidence) -> Iterator[Clue]:
    """A turn without expected calls, in which the agent called tools."""
    for diff in _diffs(evidence):
        turn, extra = diff.turn, _others(diff.extra, evidence)
        if not extra or not _says_nothing(turn, evidence):
            continue
        yield Clue(
            "no call is written down for the turn, which means that none is expected, and the agent called "
            f"{calls(extra)}",
            "write the expected calls into the turn's `intermediate_data.tool_uses`; if any call is fine "
            "there, set `match_type` to `IN_ORDER`",
            Level.WHOLE,
            turn.number,
        )


def _says_nothing(turn: Turn, evidence: Evidence) -> bool:
    """Whether a turn seems to leave calls out rather than to expect none."""
    if turn.expected_calls or turn.expected is None:
        return False
    others = [other for other in evidence.run.turns if other.number != turn.number]
    return turn.expected.intermediate_data is None or any(other.expected_calls for other in others)


def built_in_tool(evidence: Evidence) -> Iterator[Clue]:
    """Expected calls of tools that run inside the model."""
    built_in = _hidden(evidence)
    for diff in _diffs(evidence):
        hidden = [one for one in diff.missing if one.name in built_in]
        if not hidden:
            continue
        left = [one for one in diff.turn.expected_calls if one.name not in built_in]
        yield Clue(
            f"{named(one.name or '' for one in hidden)} is expected among the calls, and runs inside the "
            "model, which reports no call of it",
            "take it out of `tool_uses`; judge what it is for by the answer, with `hallucinations_v1` or a "
            "rubric",
            _whole_if_matching(diff.turn.calls, left, evidence),
            diff.turn.number,
        )


def transfer(evidence: Evidence) -> Iterator[Clue]:
    """Hand-overs between agents among the calls."""
    for diff in _diffs(evidence):
        made = [one for one in diff.extra if one.name == TRANSFER and not _are_extras_allowed(evidence)]
        wanted = [one for one in diff.missing if one.name == TRANSFER]
        if not made and not wanted:
            continue
        both = (diff.turn.calls, diff.turn.expected_calls)
        without = [[one for one in side if one.name != TRANSFER] for side in both]
        if made:
            seen = f"the hand-over {calls(made)} counts as a tool call, and is not among the expected ones"
            change = (
                "add it to the expected calls of the turn, or set `match_type` to `IN_ORDER`, which allows it"
            )
        else:
            seen = f"{calls(wanted)} is expected, and the agent did not hand over"
            change = (
                "say in the sub-agent's `description` what it is for, by which the model chooses it; agents "
                "that are called as tools (`AgentTool`) show under their own name instead"
            )
        yield Clue(seen, change, _whole_if_matching(without[0], without[1], evidence), diff.turn.number)


def _whole_if_matching(made: list[FunctionCall], wanted: list[FunctionCall], evidence: Evidence) -> Level:
    matching = trajectory_matches(made, wanted, _match_type(evidence), ignored_args(evidence))
    return Level.WHOLE if matching else Level.PART


def other_name(evidence: Evidence) -> Iterator[Clue]:
    """The right call under a name that is spelled otherwise."""
    for diff in _diffs(evidence):
        if not diff.renamed:
            continue
        told = [f"`{made.name}` was called, expected `{wanted.name}`" for wanted, made in diff.renamed]
        alone = not (diff.missing or diff.altered or diff.moved or diff.extra)
        yield Clue(
            f"{listed(told)}, with the arguments expected",
            "if the tool was renamed, rename it in the eval set too; a prefix comes from a toolset "
            "(`tool_name_prefix`)",
            Level.WHOLE if alone else Level.PART,
            diff.turn.number,
        )


def other_turn(evidence: Evidence) -> Iterator[Clue]:
    """The right call in another turn."""
    for diff in _diffs(evidence):
        here = {id(one) for one in diff.turn.calls}
        told = [
            f"{call(one)} was called here and is expected in turn {number}"
            if id(one) in here
            else f"{call(one)} is expected here and was called in turn {number}"
            for one, number in diff.moved
        ]
        if not told:
            continue
        alone = not (diff.missing or diff.altered or diff.renamed or diff.extra)
        yield Clue(
            listed(told, 2),
            "move the expected call to the turn in which it is made; or tell the agent when to ask before it "
            "acts",
            Level.WHOLE if alone else Level.PART,
            diff.turn.number,
        )


def failure_in(response: FunctionResponse) -> Any:
    """What a tool's response tells of a failure; None if it tells of none."""
    given = response.response or {}
    for key in ("error", "error_message", "exception"):
        if given.get(key):
            return given[key]
    if given.get("isError") is True or str(given.get("status", "")).lower() in ("error", "failed", "failure"):
        return given
    return None


def _failures(turn: Turn) -> list[tuple[str, Any]]:
    """The tools that failed in a turn, and how; none where the case foresees a failure."""
    data = turn.expected.intermediate_data if turn.expected else None
    if any(failure_in(response) is not None for response in (data.tool_responses if data else ())):
        return []
    return [
        (response.name or "a tool", failure)
        for response in turn.responses
        if (failure := failure_in(response)) is not None
    ]


def tool_failed(evidence: Evidence) -> Iterator[Clue]:
    """A tool that answered with an error."""
    for turn in evidence.failed_turns:
        failed = _failures(turn)
        if not failed:
            continue
        told = [f"`{name}` answered with an error: {value(failure, 100)}" for name, failure in failed]
        yield Clue(
            listed(told, 2),
            "mend the tool or what it needs (data, key, network); `tool_mocks` in the config answer in its "
            "place, the same in every run",
            _level_of_failure(turn, evidence),
            turn.number,
        )


def _level_of_failure(turn: Turn, evidence: Evidence) -> Level:
    """A call that was right and failed is the reason why later ones are missing."""
    if evidence.kind is not Kind.CALLS:
        return Level.PART
    diff = next(diff for diff in _diffs(evidence) if diff.turn.number == turn.number)
    only_missing = diff.missing and not (diff.altered or diff.renamed or diff.moved or diff.extra)
    return Level.WHOLE if only_missing else Level.ASIDE


CALLS = frozenset({Kind.CALLS})
ANSWERS = frozenset({Kind.WORDS, Kind.MEANING})
FOLLOWING_TOOLS = CALLS | ANSWERS | {Kind.JUDGED, Kind.TEXT_CHECK, Kind.TOOL_CHECK, Kind.STATE, Kind.OTHER}

RULES = (
    Rule("AE101", CALLS, extra_calls),
    Rule("AE102", CALLS, other_order),
    Rule("AE103", CALLS, wrong_arguments),
    Rule("AE104", CALLS, argument_type),
    Rule("AE105", CALLS, missing_calls),
    Rule("AE106", CALLS | ANSWERS, no_calls),
    Rule("AE107", CALLS, nothing_expected),
    Rule("AE108", CALLS, built_in_tool),
    Rule("AE109", CALLS, transfer),
    Rule("AE110", CALLS, other_name),
    Rule("AE111", CALLS, other_turn),
    Rule("AE112", FOLLOWING_TOOLS, tool_failed),
)
