"""Each ready-made check, as configured, on runs told in short."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_eval.errors import InputError
from agent_eval.metrics.configured import configured_metrics
from agent_eval.metrics.scoring import Scorer
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import MetricResult
from agent_eval.schema.trace import Invocation

Turn = dict[str, Any]

ASK = {"role": "user", "parts": [{"text": "hi"}]}


def said(text: str | None, *calls: tuple[str, dict[str, Any]], **keys: Any) -> Turn:
    """A turn by its answer and its tool calls."""
    uses = [{"name": name, "args": args} for name, args in calls]
    answer = {"role": "model", "parts": [{"text": text}]} if text is not None else None
    return {
        "user_content": ASK, "final_response": answer, "intermediate_data": {"tool_uses": uses}, **keys
    }  # fmt: skip


def used(prompt: int, candidates: int) -> Turn:
    """A turn whose model reports tokens."""
    usage = {"prompt_token_count": prompt, "candidates_token_count": candidates}
    event = {"author": "bot", "usage_metadata": usage}
    return {"user_content": ASK, "intermediate_data": {"invocation_events": [event]}}


def score(
    name: str,
    criterion: Any,
    turns: list[Turn],
    *,
    expected: list[Turn] | None = None,
    state: dict[str, Any] | None = None,
    wanted_state: dict[str, Any] | None = None,
) -> MetricResult:
    case = EvalCase.model_validate(
        {
            "eval_id": "case",
            "conversation": expected or [said(None) for _ in turns],
            "final_session_state": wanted_state,
        }
    )
    metrics = configured_metrics(EvalConfig.model_validate({"criteria": {name: criterion}}))
    scorer = Scorer([metric for metric in metrics if metric.gates])
    (result,) = asyncio.run(
        scorer.score(case, [Invocation.model_validate(turn) for turn in turns], state or {})
    )
    return result


def check(result: MetricResult, wanted: float) -> None:
    assert result.score == pytest.approx(wanted), result.reason


@pytest.mark.parametrize(
    ("options", "answers", "wanted"),
    [
        pytest.param({"texts": ["Order"]}, ["your ORDER"], 1.0, id="case does not matter"),
        pytest.param({"texts": ["Order"], "case_sensitive": True}, ["your order"], 0.0, id="case matters"),
        pytest.param({"texts": ["a", "b"]}, ["a"], 0.5, id="share of texts"),
        pytest.param({"texts": ["a"]}, ["a", "x"], 0.5, id="mean over turns"),
        pytest.param({"texts": ["a"]}, [None], 0.0, id="no answer"),
        pytest.param({"texts": ["STRASSE"]}, ["Straße"], 1.0, id="case folded"),
    ],
)
def test_response_contains(options: Any, answers: list[str | None], wanted: float) -> None:
    check(score("response_contains_v1", {"threshold": 1, **options}, [said(a) for a in answers]), wanted)


@pytest.mark.parametrize(
    ("pattern", "answers", "wanted"),
    [
        pytest.param(r"OD-\d{4}", ["Order OD-1001 is here"], 1.0, id="anywhere"),
        pytest.param(r"^OD", ["Order OD"], 0.0, id="anchored"),
        pytest.param(r"yes", ["yes", "no"], 0.5, id="mean over turns"),
        pytest.param(r"a", [None], 0.0, id="no answer"),
    ],
)
def test_response_regex(pattern: str, answers: list[str | None], wanted: float) -> None:
    criterion = {"threshold": 1, "pattern": pattern}
    check(score("response_regex_v1", criterion, [said(a) for a in answers]), wanted)


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        pytest.param('{"total": 3}', 1.0, id="of the schema"),
        pytest.param('```json\n{"total": 3}\n```', 1.0, id="fenced"),
        pytest.param('{"total": "3"}', 0.0, id="other type"),
        pytest.param("{}", 0.0, id="key is missing"),
        pytest.param("total: 3", 0.0, id="no JSON"),
        pytest.param(None, 0.0, id="no answer"),
    ],
)
def test_response_json_schema(answer: str | None, wanted: float) -> None:
    schema = {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}}
    check(score("response_json_schema_v1", {"threshold": 1, "json_schema": schema}, [said(answer)]), wanted)


@pytest.mark.parametrize(
    ("options", "answer", "expected", "wanted"),
    [
        pytest.param({}, "It costs $1,250.50", "1250.5", 1.0, id="thousands"),
        pytest.param({}, "about 3", "3 and 4", 0.5, id="one of two"),
        pytest.param({}, "3", "3 and 3", 0.5, id="each stands for one"),
        pytest.param({"tolerance": 0.1}, "3.05", "3", 1.0, id="within the tolerance"),
        pytest.param({"tolerance": 0.01}, "3.05", "3", 0.0, id="beyond the tolerance"),
        pytest.param({"tolerance": 0.1, "relative": True}, "109", "100", 1.0, id="share of the number"),
        pytest.param({"tolerance": 1}, "2 and 3", "3 and 3", 1.0, id="the nearest is taken"),
        pytest.param({}, "-5 degrees", "-5", 1.0, id="negative"),
        pytest.param({}, "none", "nothing", 1.0, id="none expected"),
    ],
)
def test_response_numbers(options: Any, answer: str, expected: str, wanted: float) -> None:
    criterion = {"threshold": 1, **options}
    check(score("response_numbers_v1", criterion, [said(answer)], expected=[said(expected)]), wanted)


LOOK_UP, PAY = ("look_up", {"id": "OD-1"}), ("pay", {"amount": 9.99, "at": "now"})


@pytest.mark.parametrize(
    ("name", "tools", "wanted"),
    [
        pytest.param("required_tools_v1", ["look_up", "pay"], 1.0, id="all were called"),
        pytest.param("required_tools_v1", ["look_up", "cancel"], 0.5, id="one was not"),
        pytest.param("forbidden_tools_v1", ["cancel"], 1.0, id="was not called"),
        pytest.param("forbidden_tools_v1", ["cancel", "pay"], 0.0, id="was called"),
    ],
)
def test_required_and_forbidden_tools(name: str, tools: list[str], wanted: float) -> None:
    turns = [said("a", LOOK_UP), said("b", PAY)]
    check(score(name, {"threshold": 1, "tools": tools}, turns), wanted)


@pytest.mark.parametrize(
    ("tools", "wanted"),
    [
        pytest.param({"look_up": {"id": {"$regex": r"^OD-\d+$"}}}, 1.0, id="pattern"),
        pytest.param({"look_up": {"id": "OD-2"}}, 0.0, id="other value"),
        pytest.param({"pay": {"amount": {"$approx": 10, "tolerance": 0.1}}}, 1.0, id="others do not count"),
        pytest.param({"pay": {"currency": {"$any": True}}}, 0.0, id="argument is missing"),
        pytest.param({"look_up": {"id": "OD-1"}, "pay": {"at": "then"}}, 0.5, id="share of calls"),
        pytest.param({"cancel": {"id": 1}}, 1.0, id="no such call"),
    ],
)
def test_tool_args(tools: Any, wanted: float) -> None:
    criterion = {"threshold": 1, "tools": tools}
    check(score("tool_args_v1", criterion, [said("a", LOOK_UP, PAY)]), wanted)


STATE = {"cart": {"items": 2, "coupon": "X1"}, "paid": True}


@pytest.mark.parametrize(
    ("match", "wanted_state", "wanted"),
    [
        pytest.param("subset", {"cart": {"items": 2}}, 1.0, id="subset at depth"),
        pytest.param("subset", {"cart": {"items": 3}}, 0.0, id="other value"),
        pytest.param("subset", {"cart": {"coupon": {"$regex": "^X"}}}, 1.0, id="pattern"),
        pytest.param("subset", {"gone": None}, 0.0, id="key is missing"),
        pytest.param("exact", {"paid": True}, 0.0, id="exact with more keys"),
        pytest.param("exact", STATE, 1.0, id="exact"),
        pytest.param("exact", None, 1.0, id="nothing expected"),
    ],
)
def test_final_session_state(match: str, wanted_state: Any, wanted: float) -> None:
    criterion = {"threshold": 1, "match": match}
    result = score("final_session_state_v1", criterion, [said("a")], state=STATE, wanted_state=wanted_state)
    check(result, wanted)


TIMED = [said("a", LOOK_UP, PAY, duration=1.5), said("b", LOOK_UP, duration=0.5)]
PRICES = {"input_price": 2.0, "output_price": 10.0}


@pytest.mark.parametrize(
    ("name", "turns", "options", "value"),
    [
        pytest.param("max_turns_v1", TIMED, {}, 2.0, id="turns"),
        pytest.param("max_tool_calls_v1", TIMED, {}, 3.0, id="tool calls"),
        pytest.param("max_duration_v1", TIMED, {}, 2.0, id="duration"),
        pytest.param("max_tokens_v1", [used(10, 5), used(20, 5)], {}, 40.0, id="tokens"),
        pytest.param("max_cost_v1", [used(500_000, 100_000)], PRICES, 2.0, id="cost"),
    ],
)
def test_limits_pass_at_the_threshold_and_fail_above(
    name: str, turns: list[Turn], options: Any, value: float
) -> None:
    at, below = (score(name, {"threshold": t, **options}, turns) for t in (value, value - 0.5))
    check(at, value)
    assert (at.status, below.status) == ("PASSED", "FAILED")


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        pytest.param("max_duration_v1", {}, "the turns were not timed", id="duration"),
        pytest.param("max_tokens_v1", {}, "no model reported tokens", id="tokens"),
        pytest.param("max_cost_v1", PRICES, "no model reported tokens", id="cost"),
    ],
)
def test_limits_of_what_is_unknown_are_not_evaluated(name: str, options: Any, reason: str) -> None:
    result = score(name, {"threshold": 1, **options}, [said("a")])
    assert result.status == "NOT_EVALUATED"
    assert result.reason
    assert reason in result.reason


@pytest.mark.parametrize(
    ("name", "options", "place"),
    [
        pytest.param("response_contains_v1", {}, "texts: required", id="no texts"),
        pytest.param("response_contains_v1", {"texts": []}, "texts: ", id="empty texts"),
        pytest.param("response_regex_v1", {"pattern": "("}, "pattern: no regular expression", id="bad regex"),
        pytest.param("response_json_schema_v1", {"json_schema": {"type": "nothing"}}, "set up", id="schema"),
        pytest.param("response_numbers_v1", {"tolerance": -1}, "tolerance: ", id="negative tolerance"),
        pytest.param("required_tools_v1", {}, "tools: required", id="no tools"),
        pytest.param("tool_args_v1", {"tools": {"f": {"a": {"$type": "x"}}}}, "tools.f: ", id="bad pattern"),
        pytest.param("final_session_state_v1", {"match": "some"}, "match: ", id="bad match"),
        pytest.param("max_cost_v1", {"input_price": 1}, "output_price: required", id="no price"),
    ],
)
def test_bad_options_are_refused_before_anything_runs(name: str, options: Any, place: str) -> None:
    with pytest.raises(InputError, match=place):
        score(name, {"threshold": 1, **options}, [said("a")])
