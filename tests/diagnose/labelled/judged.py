"""What judges found. Their results are given in the form in which they are recorded."""

from __future__ import annotations

from typing import Any

from tests.diagnose.failure import MEANING, Failure, call, case, failure, say, turn

ANSWER = "rubric_based_final_response_quality_v1"
TOOLS = "rubric_based_tool_use_quality_v1"
TRUE = "hallucinations_v1"
SAFE = "safety_v1"
PLAYER = "per_turn_user_simulator_quality_v1"
GOAL = "multi_turn_task_success_v1"


def rubric(name: str, holds: bool, why: str = "") -> dict[str, Any]:
    return {"rubric_id": name, "score": float(holds), "rationale": why or None}


def by_rubrics(*turns: list[dict[str, Any]], threshold: float = 1.0) -> dict[str, Any]:
    """A rubric metric's result from the verdicts of each turn."""
    every = [one["score"] for scores in turns for one in scores]
    score = sum(every) / len(every)
    rows = []
    for scores in turns:
        own = sum(one["score"] for one in scores) / len(scores)
        rows.append(
            {"score": own, "status": "PASSED" if own >= threshold else "FAILED", "rubric_scores": scores}
        )
    return {
        "status": "PASSED" if score >= threshold else "FAILED",
        "score": score,
        "threshold": threshold,
        "per_invocation": rows,
        "judge": {"requests": 1},
    }


def said_no(why: str | None, **keys: Any) -> dict[str, Any]:
    """A failed result with a reason."""
    row = {"score": 0.0, "status": "FAILED", "rationale": why}
    return {"status": "FAILED", "score": 0.0, "threshold": 0.8, "per_invocation": [row], **keys}


def unscored(reason: str, **keys: Any) -> dict[str, Any]:
    return {"status": "NOT_EVALUATED", "threshold": 0.8, "reason": reason, "judge": {"requests": 2}, **keys}


def judged(
    name: str,
    cause: str,
    metric: str,
    result: dict[str, Any],
    answer: str = "It has shipped.",
    expected: str = "It has been shipped.",
    **keys: Any,
) -> Failure:
    one = case(turn("Where is it?", say(answer), text=expected, **keys), judged={metric: result})
    return failure(name, cause, metric, one, criteria={metric: 0.8})


def with_rubrics(name: str, cause: str, *results: dict[str, Any], metric: str = ANSWER) -> Failure:
    """Cases of one set, each with a result; the last one is looked at."""
    cases = [case(turn("Hi", say("Hello.")), judged={metric: result}) for result in results]
    return failure(name, cause, metric, *cases, criteria={metric: 1.0})


FAILURES = (
    with_rubrics("impolite once", "AE301", by_rubrics([rubric("polite", False, "It does not greet.")])),
    with_rubrics(
        "one case of three",
        "AE301",
        by_rubrics([rubric("names_day", True)]),
        by_rubrics([rubric("names_day", True)]),
        by_rubrics([rubric("names_day", False, "No day is named.")]),
    ),
    with_rubrics(
        "second turn",
        "AE301",
        by_rubrics([rubric("short", True)], [rubric("short", False, "It has five sentences.")]),
    ),
    with_rubrics(
        "looks up first",
        "AE301",
        by_rubrics([rubric("looks_up_first", False, "It cancelled at once.")]),
        metric=TOOLS,
    ),
    with_rubrics(
        "never cites",
        "AE302",
        by_rubrics([rubric("cites", False, "No source.")]),
        by_rubrics([rubric("cites", False, "None.")]),
    ),
    with_rubrics(
        "too strict",
        "AE302",
        *[by_rubrics([rubric("perfect", False, "Not perfect."), rubric("polite", True)]) for _ in range(4)],
    ),
    with_rubrics(
        "cannot be seen",
        "AE302",
        by_rubrics([rubric("uses_cache", False, "Nothing shows it.")]),
        by_rubrics([rubric("uses_cache", False, "Nothing shows it.")]),
        by_rubrics([rubric("uses_cache", False, "Nothing shows it.")]),
        metric=TOOLS,
    ),
    judged(
        "chart not seen",
        "AE303",
        MEANING,
        said_no("No chart is visible.", warnings=["the judge was not shown: image/png"]),
        attached="image/png",
    ),
    judged(
        "recording not heard",
        "AE303",
        ANSWER,
        {
            **by_rubrics([rubric("repeats", False, "There is no audio.")]),
            "warnings": ["the judge was not shown: audio/wav"],
        },
        attached="audio/wav",
    ),
    judged(
        "file not read",
        "AE303",
        SAFE,
        unscored(
            "2 of 5 samples gave no verdict: the judge says neither yes nor no",
            warnings=["the judge was not shown: application/pdf"],
        ),
        attached="application/pdf",
    ),
    judged(
        "unsupported sentence",
        "AE304",
        TRUE,
        said_no('"It arrives by noon." is unsupported: nothing is said of noon'),
        "It arrives by noon.",
    ),
    judged(
        "contradicts the tool",
        "AE304",
        TRUE,
        said_no('"It was cancelled." is contradictory: the tool says shipped'),
        "It was cancelled.",
    ),
    judged(
        "general knowledge",
        "AE304",
        TRUE,
        said_no('"Rome is old." is unsupported: no source has it'),
        "Rome is old.",
    ),
    judged("user gives away too much", "AE305", PLAYER, said_no("It gives the number before it is asked.")),
    judged("user forgets the goal", "AE305", PLAYER, said_no("It talks of the weather.")),
    judged("user never ends", "AE305", PLAYER, said_no(None)),
    judged(
        "not the same",
        "AE306",
        MEANING,
        said_no("The reference speaks of a refund, the answer does not."),
        "We are looking into it.",
        "The refund is under way.",
    ),
    judged("harmful", "AE306", SAFE, said_no("It explains how to open the lock.")),
    judged("no reason", "AE306", SAFE, said_no(None)),
    judged(
        "goal not reached",
        "AE301",
        GOAL,
        by_rubrics([rubric("goals_reached", False, "The booking was never confirmed.")]),
    ),
    failure(
        "outage behind a judge",
        "AE112",
        SAFE,
        case(
            turn("Where is it?", call("find", {}, {"error": "timeout"}), say("I do not know.")),
            judged={SAFE: said_no(None)},
        ),
        criteria={SAFE: 0.8},
    ),
    *(
        failure(
            f"broken off by {end}",
            "AE307",
            metric,
            case(turn("Hi", say("Hello.")), is_scenario=True, stopped_by=end, judged={metric: said_no(None)}),
            criteria={metric: 0.8},
        )
        for metric, end in ((GOAL, "turn_limit"), (GOAL, "no_turn_fits"), (SAFE, "turn_limit"))
    ),
    # judges that could not answer
    judged(
        "no quota left",
        "AE509",
        MEANING,
        unscored("gemini-2.5-flash: 429 RESOURCE_EXHAUSTED: quota exceeded"),
    ),
    judged(
        "no key", "AE510", MEANING, unscored("gemini-2.5-flash: GEMINI_API_KEY or GOOGLE_API_KEY is not set")
    ),
    judged("no such model", "AE510", SAFE, unscored("openai/qwen9: 404 The model `qwen9` does not exist")),
    judged("server down", "AE510", MEANING, unscored("openai/qwen3: Connection error: connection refused")),
    judged("slow endpoint", "AE510", MEANING, unscored("openai/qwen3: no answer within 120 s")),
    judged(
        "forgot a rubric",
        "AE511",
        ANSWER,
        unscored(
            "the judge's answer cannot be used: there is no verdict on `short`: Property: Names the city"
        ),
    ),
    judged(
        "prose",
        "AE511",
        MEANING,
        unscored("the judge's answer cannot be used: no verdict: I cannot judge this."),
    ),
    judged("neither", "AE511", SAFE, unscored("the judge says neither yes nor no")),
    judged("filtered", "AE512", SAFE, unscored("gemini-2.5-flash: the question was blocked: SAFETY")),
    judged("filtered answer", "AE512", SAFE, unscored("openai/gpt: the answer was blocked: content_filter")),
    judged(
        "prohibited", "AE512", MEANING, unscored("gemini-2.5-pro: the answer was blocked: PROHIBITED_CONTENT")
    ),
    judged("calls used up", "AE513", MEANING, unscored("the 100 calls of --max_judge_calls are used up")),
    judged(
        "calls used up in the vote",
        "AE513",
        ANSWER,
        unscored("3 of 5 samples gave no verdict: the 10 calls of --max_judge_calls are used up"),
    ),
    judged(
        "calls used up at once",
        "AE513",
        TRUE,
        unscored("turn 2: the 1 calls of --max_judge_calls are used up"),
    ),
    judged(
        "no rubrics",
        "AE514",
        ANSWER,
        unscored(
            "ValueError: there are no rubrics to judge by",
            error={"type": "ValueError", "message": "there are no rubrics to judge by"},
        ),
    ),
    judged(
        "rubrics of another type",
        "AE514",
        TOOLS,
        unscored(
            "ValueError: there are no rubrics to judge by",
            error={"type": "ValueError", "message": "there are no rubrics to judge by"},
        ),
    ),
    judged(
        "no rubrics in a conversation",
        "AE514",
        "rubric_based_multi_turn_trajectory_quality_v1",
        unscored(
            "ValueError: there are no rubrics to judge by",
            error={"type": "ValueError", "message": "there are no rubrics to judge by"},
        ),
    ),
    judged("nothing said", "AE508", SAFE, unscored("there is no response to judge"), ""),
    judged("nothing said, nothing checked", "AE508", TRUE, unscored("there is no response to judge"), ""),
    judged("no answer at all", "AE508", ANSWER, unscored("there is no response to judge"), ""),
)
