"""Metrics without a score, and metrics that only their author knows."""

from __future__ import annotations

from tests.diagnose.failure import MATCH, TRAJECTORY, Case, Failure, case, code, failure, say, turn

HELLO = case(turn("Hi", say("Hello."), text="Hello."))


def own(name: str, cause: str, metric: str, one: Case = HELLO) -> Failure:
    """A metric of `metrics.py`."""
    where = {"code_config": {"name": f"tests.diagnose.labelled.metrics.{metric}"}}
    return failure(name, cause, metric, one, criteria={metric: 0.5}, custom_metrics={metric: where})


SCENARIO = case(turn("Hi", say("Hello.")), is_scenario=True)

FAILURES = (
    own("index", "AE501", "broken"),
    own("file", "AE501", "missing_file"),
    own("division", "AE501", "bad_division"),
    own("compares", "AE502", "unset"),
    own("reckons", "AE502", "reckons"),
    own("halves", "AE502", "negates"),
    own("sleeps", "AE503", "slow"),
    own(
        "sleeps with two turns",
        "AE503",
        "slow",
        case(turn("a", say("b"), text="b"), turn("c", say("d"), text="d")),
    ),
    own("sleeps on a scenario", "AE503", "slow", SCENARIO),
    own("a word", "AE504", "text"),
    own("nothing", "AE504", "nothing"),
    own("infinity", "AE504", "infinite"),
    own("undecided", "AE505", "undecided"),
    own("score without status", "AE505", "scored_only"),
    own("says why", "AE505", "says_why"),
    failure("match on a scenario", "AE506", MATCH, SCENARIO, criteria={MATCH: 0.8}),
    failure("calls on a scenario", "AE506", TRAJECTORY, SCENARIO, criteria={TRAJECTORY: 1.0}),
    failure(
        "numbers on a scenario",
        "AE506",
        "response_numbers_v1",
        SCENARIO,
        criteria={"response_numbers_v1": 1.0},
    ),
    *(
        failure(
            f"ends after {taken} of {len(turns)}",
            "AE507",
            metric,
            case(*turns, ends_after=taken),
            criteria={metric: 0.8},
        )
        for metric, taken, turns in (
            (MATCH, 1, [turn("a", say("b"), text="b"), turn("c", say("d"), text="d")]),
            (TRAJECTORY, 2, [turn("a", say("b"), calls=[])] * 3),
            (MATCH, 1, [turn("a", say("b"), text="b")] * 4),
        )
    ),
    own("quota", "AE509", "limited"),
    own("too many requests", "AE509", "throttled"),
    failure("no tokens", "AE515", "max_tokens_v1", HELLO, criteria={"max_tokens_v1": 100}),
    failure(
        "no price",
        "AE515",
        "max_cost_v1",
        HELLO,
        criteria={"max_cost_v1": {"threshold": 1, "input_price": 1, "output_price": 1}},
    ),
    failure(
        "no tokens in two turns",
        "AE515",
        "max_tokens_v1",
        case(turn("a", say("b"), text="b"), turn("c", say("d"), text="d")),
        criteria={"max_tokens_v1": 100},
    ),
    own("below", "AE516", "low"),
    own("lower is better", "AE516", "lower_is_better"),
    own("with a rationale", "AE516", "rates"),
    failure(
        "all crashed, so not scored",
        "AE413",
        MATCH,
        case(turn("Hi", code("raise LookupError('no such user')"), text="Hello.")),
    ),
)
