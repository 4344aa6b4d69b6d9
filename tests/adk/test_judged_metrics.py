"""Our judged metrics beside ADK's: the same replies of the judge give the same scores."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from agent_eval.judge.base import Request
from agent_eval.metrics import adk_bridge
from agent_eval.metrics.base import RunContext
from agent_eval.schema.trace import EvalStatus
from tests.metrics.judged.support import (
    ScriptedJudges,
    Turn,
    call,
    case_of,
    events,
    invocations,
    metric_of,
    returned,
    rubric,
    text_of,
    turn,
)

pytestmark = [pytest.mark.adk, pytest.mark.filterwarnings("ignore::UserWarning")]

RUNS = 60
GARBAGE = "I cannot say."

Script = Callable[[str, int], str]
"""`script(prompt, sample)`: what the judge says to a prompt for the nth time."""


class Counting:
    """Counts how often each prompt was given."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._given: dict[str, int] = {}

    def __call__(self, prompt: str) -> str:
        sample = self._given[prompt] = self._given.get(prompt, -1) + 1
        return self._script(prompt, sample)


def of_adk(name: str, options: dict[str, Any], run: RunContext, script: Script) -> tuple[EvalStatus, Any]:
    """Status and score by ADK's evaluator, its judge replaced."""
    from google.adk.evaluation.metric_evaluator_registry import DEFAULT_METRIC_EVALUATOR_REGISTRY
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.models.registry import LLMRegistry
    from google.genai import types

    reply = Counting(script)

    class Scripted(BaseLlm):
        @classmethod
        def supported_models(cls) -> list[str]:
            return ["scripted-judge"]

        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            text = reply(llm_request.contents[0].parts[0].text)
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))

    LLMRegistry.register(Scripted)
    LLMRegistry.resolve.cache_clear()
    metric = metric_of(name, None, **options).eval_metric
    given = adk_bridge.to_adk(metric, run.invocations, run.case.conversation, run.case.conversation_scenario)
    adk_metric, *turns = given
    adk_metric.criterion.judge_model_options = {
        **adk_metric.criterion.judge_model_options,
        "judge_model": "scripted-judge",
    }
    evaluator = DEFAULT_METRIC_EVALUATOR_REGISTRY.get_evaluator(adk_metric)
    result = asyncio.run(evaluator.evaluate_invocations(*turns))
    return EvalStatus[result.overall_eval_status.name], result.overall_score


def of_ours(
    name: str, options: dict[str, Any], run: RunContext, script: Script
) -> tuple[EvalStatus, Any, int]:
    """Status and score by ours, and how often the judge was asked. Whoever asks again is told the same."""
    samples: dict[str, int] = {}

    def reply(request: Request) -> str:
        prompt = text_of(Request(request.contents[:1]))
        if len(request.contents) == 1:
            samples[prompt] = samples.get(prompt, -1) + 1
        return script(prompt, samples[prompt])

    judges = ScriptedJudges(reply)
    evaluator = metric_of(name, judges, **options).build()
    result = asyncio.run(evaluator.evaluate_run(run))
    asked = sum(len(request.contents) == 1 for request in judges.requests)
    return result.overall_eval_status, result.overall_score, asked


def number_in(prompt: str, word: str) -> int:
    """The last `word N` of a prompt: earlier turns come first."""
    return max(number for number in range(10) if f"{word} {number}" in prompt)


def run_of(turns: list[Turn], scenario: dict[str, Any] | None = None) -> RunContext:
    return RunContext(case_of(turns, scenario), invocations(turns), {})


STEPS = events([call("look_up", order=7)], [returned("look_up", {"state": "sent"})])


def talk(length: int) -> list[Turn]:
    return [
        turn(f"question {number}", f"Answer {number}.", intermediate_data=STEPS) for number in range(length)
    ]


def drawn(draw: random.Random) -> tuple[int, int, float]:
    """Turns, samples and a threshold."""
    return draw.randint(1, 3), draw.randint(1, 5), draw.choice([0.25, 0.5, 0.75, 1.0])


def assert_alike(
    name: str, options: dict[str, Any], run: RunContext, script: Script, *, all_judged: bool = True
) -> int:
    """The scores agree; where a turn has none, ours is no pass. Gives how often ours asked."""
    adk, (status, score, asked) = of_adk(name, options, run, script), of_ours(name, options, run, script)
    if all_judged:
        assert (status, score) == (adk[0], pytest.approx(adk[1], abs=1e-12))
    else:
        assert status is not EvalStatus.PASSED
        assert adk[0] is not EvalStatus.FAILED or status is EvalStatus.FAILED
    return asked


def test_final_response_match() -> None:
    draw = random.Random(1)
    asked = full = 0
    for _ in range(RUNS):
        turns, samples, threshold = drawn(draw)
        words = [[draw.choice(["valid", "invalid", ""]) for _ in range(samples)] for _ in range(turns)]

        def script(prompt: str, sample: int, words: list[list[str]] = words) -> str:
            word = words[number_in(prompt, "question")][sample]
            return f'{{"reasoning": "r", "is_the_agent_response_valid": "{word}"}}' if word else GARBAGE

        options = {"threshold": threshold, "samples": samples}
        judged = all(any(said) for said in words)
        asked += assert_alike(
            "final_response_match_v2", options, run_of(talk(turns)), script, all_judged=judged
        )
        full += turns * samples
    assert asked < full


@pytest.mark.parametrize(
    "name",
    [
        "rubric_based_final_response_quality_v1",
        "rubric_based_tool_use_quality_v1",
        "rubric_based_multi_turn_trajectory_quality_v1",
    ],
)
def test_rubrics(name: str) -> None:
    draw = random.Random(2)
    rubrics = [rubric("a", "It is short."), rubric("b", "It is true."), rubric("c", "It is kind.")]
    for _ in range(RUNS):
        turns, samples, threshold = drawn(draw)
        words = [
            [
                [draw.choice(["yes", "no"]) for _ in rubrics] if draw.random() < 0.9 else []
                for _ in range(samples)
            ]
            for _ in range(turns)
        ]
        heard = words[-1:] if "multi_turn" in name else words

        def script(prompt: str, sample: int, words: list[list[list[str]]] = words) -> str:
            said = words[number_in(prompt, "question")][sample]
            blocks = [
                f"ID: {one['rubric_id']}\nProperty: {one['rubric_content']['text_property']}\n"
                f"Rationale: r\nVerdict: {word}\n"
                for one, word in zip(rubrics, said, strict=False)
            ]
            return "\n".join(blocks) or GARBAGE

        options = {"threshold": threshold, "samples": samples, "rubrics": rubrics}
        judged = all(any(said) for said in heard)
        assert_alike(name, options, run_of(talk(turns)), script, all_judged=judged)


def test_hallucinations() -> None:
    draw = random.Random(3)
    labels = ["supported", "unsupported", "contradictory", "disputed", "not_applicable"]
    for _ in range(RUNS):
        length = draw.randint(1, 5)
        sentences = [f"Claim {number} is made." for number in range(length)]
        said = [draw.choice(labels) for _ in sentences]
        run = run_of([turn("question 0", " ".join(sentences), intermediate_data=STEPS)])

        def script(prompt: str, sample: int, sentences: list[str] = sentences, said: list[str] = said) -> str:
            if "<sentence>...</sentence>" in prompt and "supporting_excerpt" not in prompt:
                return "\n".join(f"<sentence>{sentence}</sentence>" for sentence in sentences)
            return "\n\n".join(
                f"sentence: {sentence}\nlabel: {label}\nrationale: r\n"
                "supporting_excerpt: null\ncontradicting_excerpt: null"
                for sentence, label in zip(sentences, said, strict=True)
            )

        assert assert_alike("hallucinations_v1", {"threshold": 0.5}, run, script) == 1


def test_simulated_users() -> None:
    draw = random.Random(4)
    scenario = {"starting_prompt": "message 0", "conversation_plan": "Order, then stop."}
    for _ in range(RUNS):
        turns, samples, threshold = drawn(draw)
        opening = draw.choice(["message 0", "something else, message 0"])
        said = [opening, *(f"message {number}" for number in range(1, turns))]
        run = run_of([turn(text, f"answer to {text}") for text in said], scenario)
        words = [[draw.choice(["true", "false"]) for _ in range(samples)] for _ in range(turns + 1)]

        def script(prompt: str, sample: int, words: list[list[str]] = words, turns: int = turns) -> str:
            asked = prompt.rstrip().removesuffix(
                "That is all the evidence. Now judge as you were instructed."
            )
            at_the_end = "</finished>" in asked[-60:]
            place = turns if at_the_end else number_in(prompt, "message")
            return f'{{"criteria": [], "is_valid": {words[place][sample]}}}'

        options = {"threshold": threshold, "samples": samples}
        assert_alike("per_turn_user_simulator_quality_v1", options, run, script)
