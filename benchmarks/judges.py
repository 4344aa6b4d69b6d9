"""What a verdict costs: calls of a judge and the time they take, beside ADK's evaluators.

A conversation of many turns is scored by `final_response_match_v2`, five samples a turn, against one model
server on this machine that takes its time for each answer. Run it where agent-eval and google-adk[eval] are
installed together; without google-adk, its rows are left out.
"""

from __future__ import annotations

import asyncio
import importlib.util
import multiprocessing
import os
import sys
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from timeit import default_timer
from typing import Any

from measure import arguments, print_table, print_target

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the model server of the tests

TURNS = 16
SAMPLES = 5
LATENCY = 0.05
"""Seconds that the model takes for an answer."""
PARALLELISM = (1, 4, 16)
METRIC = "final_response_match_v2"

JUDGES = {
    "unanimous": lambda turn, sample: True,
    "every third answer differs": lambda turn, sample: sample % 3 != 1,
    "at odds in every other turn": lambda turn, sample: turn % 2 == 0 or sample % 2 == 0,
}
"""Whether a sample of a turn says valid."""

Turns = list[dict[str, Any]]


def turns(said: str) -> Turns:
    """A conversation in which the agent says `said` and the number of the turn."""

    def content(role: str, text: str) -> dict[str, Any]:
        return {"role": role, "parts": [{"text": text}]}

    return [
        {
            "invocation_id": f"turn {number}",
            "user_content": content("user", f"What of order number {number}?"),
            "final_response": content("model", f"{said} order number {number}."),
        }
        for number in range(TURNS)
    ]


def serve(pipe: Connection) -> None:
    """Answers as the parent says, and tells it how often it was asked."""
    from tests.model_server import Asked, serving, slow

    with serving() as server:
        pipe.send(server.environment)
        while (judge := pipe.recv()) is not None:
            asked: dict[int, int] = {}

            def answer(request: Asked, judge: str = judge, asked: dict[int, int] = asked) -> Any:
                turn = max(n for n in range(TURNS) if f"order number {n}." in request.prompt)
                sample = asked[turn] = asked.get(turn, -1) + 1
                word = "valid" if JUDGES[judge](turn, sample) else "invalid"
                return slow(LATENCY, {"reasoning": "as it is", "is_the_agent_response_valid": word})

            server.always = answer
            server.requests.clear()
            pipe.send("ready")
            pipe.recv()
            pipe.send(len(server.requests))


Score = Callable[[Turns, Turns], Awaitable[float | None]]


def options(parallelism: int) -> dict[str, Any]:
    """Of the judge, for both sides."""
    return {"judge_model": "gemini-2.5-flash", "num_samples": SAMPLES, "parallelism_limit": parallelism}


def agent_eval(parallelism: int) -> Score:
    """Scores with this project."""
    from agent_eval.judge.judges import Judges
    from agent_eval.metrics.base import EvalMetric
    from agent_eval.metrics.judged.verdicts import FinalResponseMatch
    from agent_eval.schema.config import JudgeCriterion, JudgeModelOptions
    from agent_eval.schema.trace import Invocation

    asked = JudgeModelOptions.model_validate(options(parallelism))
    criterion = JudgeCriterion(threshold=0.5, judge_model_options=asked)

    async def score(actual: Turns, expected: Turns) -> float | None:
        judges = Judges()
        metric = EvalMetric(metric_name=METRIC, threshold=0.5, criterion=criterion)
        evaluator = FinalResponseMatch(metric, judges.judge(asked))
        pair = [[Invocation.model_validate(turn) for turn in one] for one in (actual, expected)]
        try:
            return (await evaluator.evaluate_invocations(*pair)).overall_score
        finally:
            await judges.aclose()

    return score


def adk(parallelism: int) -> Score:
    """Scores with google-adk."""
    from google.adk.evaluation.eval_case import Invocation
    from google.adk.evaluation.eval_metrics import EvalMetric, JudgeModelOptions, LlmAsAJudgeCriterion
    from google.adk.evaluation.final_response_match_v2 import FinalResponseMatchV2Evaluator

    asked = JudgeModelOptions(**options(parallelism))
    criterion = LlmAsAJudgeCriterion(threshold=0.5, judge_model_options=asked)

    async def score(actual: Turns, expected: Turns) -> float | None:
        metric = EvalMetric(metric_name=METRIC, threshold=0.5, criterion=criterion)
        evaluator = FinalResponseMatchV2Evaluator(metric)
        pair = [[Invocation.model_validate(turn) for turn in one] for one in (actual, expected)]
        return (await evaluator.evaluate_invocations(*pair)).overall_score

    return score


def measured(score: Score, judge: str, pipe: Connection) -> tuple[float, int, float | None]:
    """Seconds, calls and the score of one conversation."""
    pipe.send(judge)
    pipe.recv()
    start = default_timer()
    found = asyncio.run(score(turns("I found"), turns("There is")))
    seconds = default_timer() - start
    pipe.send("how often?")
    return seconds, pipe.recv(), found


def main() -> None:
    given = arguments(__doc__, rounds=3).parse_args()
    sides: dict[str, Callable[[int], Score]] = {"agent-eval": agent_eval}
    if importlib.util.find_spec("google.adk"):
        sides["adk"] = adk
    context = multiprocessing.get_context("spawn")
    pipe, other = context.Pipe()
    server = context.Process(target=serve, args=(other,))
    server.start()
    os.environ.update(pipe.recv())
    rows, calls = [], {}
    try:
        for make in sides.values():
            measured(make(PARALLELISM[-1]), "unanimous", pipe)  # a warm-up, which imports the SDK
        for judge in JUDGES:
            for parallelism in PARALLELISM:
                for name, make in sides.items():
                    samples = [measured(make(parallelism), judge, pipe) for _ in range(given.rounds)]
                    calls[name, judge] = median(count for _, count, _ in samples) / TURNS
                    figures = (
                        f"{calls[name, judge]:.2f}",
                        f"{median(seconds for seconds, _, _ in samples):.2f}",
                        f"{samples[0][2]:.3f}",
                    )
                    rows.append([f"{judge}, {parallelism} at once, {name}", *figures])
    finally:
        pipe.send(None)
        server.join()
    print_table([f"{TURNS} turns, {SAMPLES} samples", "calls a verdict", "seconds", "score"], rows)
    print_target("calls a verdict of a unanimous judge", calls["agent-eval", "unanimous"], 3.0)


if __name__ == "__main__":
    main()
