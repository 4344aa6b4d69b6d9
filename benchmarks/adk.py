"""ADK agents in process: start-up beside `adk eval`, and many runs against google-adk's own Runner.

Run it where agent-eval and google-adk[eval] are installed together.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path
from statistics import median

from measure import Command, Samples, adk_python, arguments, interleaved, print_samples, print_target, script
from workload import PARALLELISM, Workload

CASES = 200
SECONDS = 0.05
"""What the model takes in one turn: it is asked twice, and takes half of it each time."""

ONE = "agent-eval run --quiet, one case"
MANY = f"agent-eval run --quiet, {CASES} cases of {SECONDS:g} s, {PARALLELISM} at once"
ADK_ONE = "adk eval, the same case"
RUNNER_ONE = "google-adk's Runner alone, one turn"
RUNNER_MANY = f"google-adk's Runner alone, {CASES} turns of 0 s, one after the other"

_AGENT = '''\
import asyncio
import os

from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types

SECONDS = float(os.environ.get("BENCHMARK_MODEL_SECONDS", "0"))


def look_up_order(order_id: str) -> dict:
    """Returns the status of an order."""
    return {"order_id": order_id, "status": "shipped"}


class ScriptedModel(BaseLlm):
    """Calls the tool, then tells what it returned."""

    async def generate_content_async(self, llm_request, stream=False):
        if SECONDS:
            await asyncio.sleep(SECONDS / 2)
        part = llm_request.contents[-1].parts[-1]
        if part.function_response:
            order = part.function_response.response
            answer = types.Part(text=f"Your order {order['order_id']} is {order['status']}.")
        else:
            call = types.FunctionCall(name="look_up_order", args={"order_id": part.text.split()[-1]})
            answer = types.Part(function_call=call)
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=9, candidates_token_count=9)
        yield LlmResponse(content=types.Content(role="model", parts=[answer]), usage_metadata=usage)


root_agent = LlmAgent(name="order_desk", model=ScriptedModel(model="scripted"), tools=[look_up_order])
'''


def take_turns(package: Path, count: int) -> None:
    """So many turns, each with a Runner, a session and services of its own, and nothing around them."""
    from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
    from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
    from google.adk.runners import Runner
    from google.adk.sessions.in_memory_session_service import InMemorySessionService
    from google.genai import types

    sys.path.insert(0, str(package.parent))
    agent = __import__(f"{package.name}.agent").agent.root_agent

    async def turn(number: int) -> None:
        sessions = InMemorySessionService()
        runner = Runner(
            app_name="order_desk",
            agent=agent,
            session_service=sessions,
            artifact_service=InMemoryArtifactService(),
            memory_service=InMemoryMemoryService(),
        )
        await sessions.create_session(app_name="order_desk", user_id="user", session_id="session")
        asked = types.Content(role="user", parts=[types.Part(text=f"Please look up order OD-{number}")])
        events = [
            event async for event in runner.run_async(user_id="user", session_id="session", new_message=asked)
        ]
        if len(events) != 3:
            raise SystemExit(f"a turn had {len(events)} events")

    async def main() -> None:
        for number in range(count):
            await turn(number)

    asyncio.run(main())


def commands(folder: Path) -> list[Command]:
    work = Workload(folder)
    package = folder / "scripted" / "order_desk"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from . import agent\n")
    (package / "agent.py").write_text(_AGENT)

    def agent_eval(cases: int) -> list[str]:
        options = ["--quiet", f"--parallelism={PARALLELISM}", f"--output={folder / f'results_{cases}'}"]
        return [script(sys.executable, "agent-eval"), "run", str(package), work.eval_set(cases), *options]

    def runner(turns: int) -> list[str]:
        return [sys.executable, __file__, "--turns", str(turns), "--package", str(package)]

    adk_eval = [script(sys.executable, "adk"), "eval", str(package), work.eval_set(1)]
    return [
        Command(ONE, agent_eval(1), folder),
        Command(MANY, agent_eval(CASES), folder, {"BENCHMARK_MODEL_SECONDS": str(SECONDS)}),
        Command(ADK_ONE, adk_eval, folder),
        Command(RUNNER_ONE, runner(1), folder),
        Command(RUNNER_MANY, runner(CASES), folder),
    ]


def check(folder: Path) -> None:
    """Every case has passed; a result in which one did not measures something else."""
    for cases in (1, CASES):
        for summary in (folder / f"results_{cases}").glob("*/*.json"):
            passed = json.loads(summary.read_bytes())["totals"]["passed"]
            if passed != cases:
                raise SystemExit(f"only {passed} of {cases} cases passed")


def options() -> argparse.Namespace:
    parser = arguments(__doc__, rounds=9)
    parser.add_argument("--turns", type=int, help="take so many turns with the agent of --package, only")
    parser.add_argument("--package", type=Path)
    return parser.parse_args()


def differences(samples: dict[str, Samples], more: str, less: str, by: int = 1) -> list[float]:
    """What one command took longer than another, round by round, divided by `by`."""
    pairs = zip(samples[more].seconds, samples[less].seconds, strict=True)
    return [(longer - shorter) / by for longer, shorter in pairs]


def main() -> None:
    given = options()
    if given.turns:
        take_turns(given.package, given.turns)
        return
    if not adk_python(None):
        raise SystemExit("nothing to measure")
    with tempfile.TemporaryDirectory() as name:
        samples = interleaved(commands(Path(name)), given.rounds)
        check(Path(name))
    print_samples(samples, ONE)

    ideal = CASES * SECONDS / PARALLELISM
    alone = [per_turn * CASES for per_turn in differences(samples, RUNNER_MANY, RUNNER_ONE, CASES - 1)]
    makespans = differences(samples, MANY, ONE)
    print(
        f"a turn alone: {median(alone) / CASES * 1000:.2f} ms; {CASES} of them: {median(alone):.2f} s; ",
        end="",
    )
    print(f"waits alone: {ideal:.2f} s; makespan without start-up: {median(makespans):.2f} s\n")
    ratio = samples[ADK_ONE].median / samples[ONE].median
    print_target("start-up, adk eval / agent-eval run", ratio, 3.0, "x", at_least=True)
    ratios = [span / max(ideal, runner) for span, runner in zip(makespans, alone, strict=True)]
    print_target("makespan / the larger of the two, median of the rounds", median(ratios), 1.15)


if __name__ == "__main__":
    main()
