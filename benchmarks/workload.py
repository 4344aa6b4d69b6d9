"""What the benchmarks evaluate: generated eval sets, and one agent as plain Python and as an ADK package.

A case is one turn with one tool call. Both agents do the same for it, and pass.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from measure import script

PARALLELISM = 32

_PYTHON_AGENT = '''\
import asyncio
import os

SECONDS = float(os.environ.get("BENCHMARK_AGENT_SECONDS", "0"))
WORK = int(os.environ.get("BENCHMARK_AGENT_WORK", "0"))


def look_up_order(order_id):
    """Returns the status of an order."""
    return {"order_id": order_id, "status": "shipped"}


async def root_agent(message, session):
    order_id = message.text.split()[-1]
    if SECONDS:
        await asyncio.sleep(SECONDS)
    sum(range(WORK))  # holds the core
    order = session.call_tool_sync(look_up_order, order_id=order_id)
    return f"Your order {order_id} is {order['status']}."
'''

_ADK_AGENT = '''\
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types


def look_up_order(order_id: str) -> dict:
    """Returns the status of an order."""
    return {"order_id": order_id, "status": "shipped"}


class ScriptedModel(BaseLlm):
    """Calls the tool, then tells what it returned."""

    async def generate_content_async(self, llm_request, stream=False):
        part = llm_request.contents[-1].parts[-1]
        if part.function_response:
            order = part.function_response.response
            answer = types.Part(text=f"Your order {order['order_id']} is {order['status']}.")
        else:
            call = types.FunctionCall(name="look_up_order", args={"order_id": part.text.split()[-1]})
            answer = types.Part(function_call=call)
        yield LlmResponse(content=types.Content(role="model", parts=[answer]))


root_agent = LlmAgent(name="order_desk", model=ScriptedModel(model="scripted"), tools=[look_up_order])
'''

_CONFIG = {"criteria": {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}}


class Workload:
    """The files, in a folder of their own, and the commands that evaluate them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._python_agent = folder / "order_desk.py"
        self._python_agent.write_text(_PYTHON_AGENT)
        self._adk_agent = folder / "adk" / "order_desk"
        self._adk_agent.mkdir(parents=True)
        (self._adk_agent / "__init__.py").write_text("from . import agent\n")
        (self._adk_agent / "agent.py").write_text(_ADK_AGENT)
        self._config = folder / "config.json"
        self._config.write_text(json.dumps(_CONFIG))

    def eval_set(self, cases: int) -> str:
        """The path of an eval set with so many cases."""
        path = self.folder / f"orders_{cases}.evalset.json"
        if not path.exists():
            document = {
                "eval_set_id": f"orders_{cases}",
                "eval_cases": [_case(number) for number in range(cases)],
            }
            path.write_text(json.dumps(document, indent=2))
        return str(path)

    def agent_eval(self, cases: int, *, num_runs: int = 1, options: Sequence[str] = ()) -> list[str]:
        """`agent-eval run` on the plain Python agent."""
        return [
            script(sys.executable, "agent-eval"),
            "run",
            str(self._python_agent),
            self.eval_set(cases),
            f"--config={self._config}",
            f"--num_runs={num_runs}",
            f"--parallelism={PARALLELISM}",
            f"--output={self._results(cases, num_runs)}",
            *options,
        ]

    def _results(self, cases: int, num_runs: int = 1) -> Path:
        return self.folder / ".agent_eval" / f"results_{cases}_{num_runs}"

    def summaries(self, cases: int, num_runs: int = 1) -> list[Path]:
        """The summaries that `agent-eval run` has left so far, oldest first."""
        return sorted(self._results(cases, num_runs).rglob("*.json"))

    def journal_bytes(self, cases: int, num_runs: int) -> int:
        """The newest journal of so many runs."""
        return self.summaries(cases, num_runs)[-1].with_suffix(".runs.jsonl").stat().st_size

    def result_bytes(self, cases: int) -> int:
        """Journal and summary of one `agent-eval run`."""
        summary = self.summaries(cases)[-1]
        _check(cases, json.loads(summary.read_bytes())["totals"]["passed"])
        return summary.stat().st_size + summary.with_suffix(".runs.jsonl").stat().st_size

    def adk_eval(self, python: str, cases: int) -> list[str]:
        """`adk eval` on the ADK package."""
        return [
            script(python, "adk"),
            "eval",
            str(self._adk_agent),
            self.eval_set(cases),
            f"--config_file_path={self._config}",
        ]

    def adk_result_bytes(self, cases: int) -> int:
        """The result file of one `adk eval`."""
        for path in (self._adk_agent / ".adk" / "eval_history").iterdir():
            result = json.loads(path.read_bytes())
            if result["eval_set_id"] == f"orders_{cases}":
                _check(cases, sum(case["final_eval_status"] == 1 for case in result["eval_case_results"]))
                return path.stat().st_size
        raise SystemExit("adk eval has left no result")


def _case(number: int) -> dict[str, object]:
    order_id = f"OD-{1000 + number}"
    return {
        "eval_id": f"status_of_{order_id}",
        "conversation": [
            {
                "invocation_id": f"turn-{number}",
                "user_content": {"role": "user", "parts": [{"text": f"Please look up order {order_id}"}]},
                "final_response": {
                    "role": "model",
                    "parts": [{"text": f"Your order {order_id} is shipped."}],
                },
                "intermediate_data": {
                    "tool_uses": [{"name": "look_up_order", "args": {"order_id": order_id}}]
                },
            }
        ],
        "session_input": {"app_name": "order_desk", "user_id": "user", "state": {}},
    }


def _check(cases: int, passed: int) -> None:
    """Every case passes; a result in which one did not measures something else."""
    if passed != cases:
        raise SystemExit(f"only {passed} of {cases} cases passed")
