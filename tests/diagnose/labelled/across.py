"""What only several runs or cases show."""

from __future__ import annotations

from tests.diagnose.failure import MATCH, TRAJECTORY, Case, call, case, error, failure, say, turn, varying

LOOK = call("find", {"id": "A1"}, {"status": "shipped"})
GOOD = turn("A1?", LOOK, say("It has shipped."), calls=[("find", {"id": "A1"})], text="It has shipped.")
LAZY = turn("A1?", say("It has shipped."), calls=[("find", {"id": "A1"})], text="It has shipped.")
VAGUE = turn(
    "A1?", LOOK, say("Something is going on with it."), calls=[("find", {"id": "A1"})], text="It has shipped."
)
RATE = {"multi_run_config": {"cross_run_scoring_by_metric": {TRAJECTORY: "pass_rate", MATCH: "pass_rate"}}}


def searched(what: str) -> Case:
    return case(turn(what, say(f"I found {what}."), calls=[("google_search", {"q": what})]))


def crashed(message: str) -> Case:
    return case(turn("Hi", error("ClientError", message), text="Hello."))


FAILURES = (
    failure(
        "one lazy run in five",
        "AE601",
        TRAJECTORY,
        varying(GOOD, GOOD, LAZY, GOOD, GOOD),
        criteria={TRAJECTORY: 1.0},
        **RATE,
    ),
    failure(
        "every other answer is vague",
        "AE601",
        MATCH,
        varying(GOOD, VAGUE, GOOD, VAGUE),
        criteria={MATCH: 0.8},
        **RATE,
    ),
    failure(
        "one vague run in three", "AE601", MATCH, varying(VAGUE, GOOD, GOOD), criteria={MATCH: 0.8}, **RATE
    ),
    failure(
        "mostly lazy",
        "AE106",
        TRAJECTORY,
        varying(LAZY, LAZY, GOOD, LAZY),
        criteria={TRAJECTORY: 1.0},
        **RATE,
    ),
    failure(
        "always lazy", "AE106", TRAJECTORY, varying(LAZY, LAZY, LAZY), criteria={TRAJECTORY: 1.0}, **RATE
    ),
    failure(
        "quota in some runs",
        "AE404",
        "",
        varying(GOOD, turn("A1?", error("ClientError", "429 RESOURCE_EXHAUSTED")), GOOD),
        criteria={MATCH: 0.8},
    ),
    failure(
        "all search", "AE602", "*", searched("a"), searched("b"), searched("c"), criteria={TRAJECTORY: 1.0}
    ),
    failure(
        "all crash", "AE602", "*", *[crashed("404 models/gemini-9 is not found")] * 4, criteria={MATCH: 0.8}
    ),
    failure(
        "metric broken everywhere",
        "AE602",
        "*",
        *[case(GOOD)] * 3,
        criteria={"broken": 0.5},
        custom_metrics={"broken": {"code_config": {"name": "tests.diagnose.labelled.metrics.broken"}}},
    ),
    failure(
        "all log",
        "AE602",
        "*",
        *[
            case(
                turn(
                    f"{n}?", call("find", {"id": n}), call("log", {}), say("ok"), calls=[("find", {"id": n})]
                )
            )
            for n in range(5)
        ],
        criteria={TRAJECTORY: 1.0},
    ),
)
