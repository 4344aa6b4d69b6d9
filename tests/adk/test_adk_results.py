"""What `--adk_results` writes is what google-adk itself reads, from where it looks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("google.adk.evaluation.eval_result")

from google.adk.evaluation._eval_set_results_manager_utils import parse_eval_set_result_json
from google.adk.evaluation.eval_metrics import EvalStatus
from google.adk.evaluation.eval_result import EvalSetResult
from google.adk.evaluation.local_eval_set_results_manager import LocalEvalSetResultsManager

from tests.adk import MARKS
from tests.cli_support import Project, case, eval_set

pytestmark = MARKS

AGENT = """\
    from google.adk.agents.llm_agent import LlmAgent
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_response import LlmResponse
    from google.genai import types


    class Scripted(BaseLlm):
        model: str = "scripted"

        async def generate_content_async(self, llm_request, stream=False):
            asked = llm_request.contents[-1].parts[-1]
            if asked.text == "crash":
                raise RuntimeError("socket reset")
            if asked.text == "where is A1?":
                call = types.FunctionCall(name="look_up", args={"order_id": "A1"})
                answer = types.Part(function_call=call, thought_signature=b"\\xff\\xfe")
            else:
                answer = types.Part(text="A1 has shipped" if asked.function_response else asked.text)
            yield LlmResponse(
                content=types.Content(role="model", parts=[answer]),
                usage_metadata=types.GenerateContentResponseUsageMetadata(
                    prompt_token_count=10, candidates_token_count=2
                ),
            )


    def look_up(order_id: str) -> dict:
        "Looks an order up."
        return {"status": "shipped"}


    root_agent = LlmAgent(name="desk", model=Scripted(), instruction="Be brief.", tools=[look_up])
    """

ASKS_FOR_A_CALL = case(
    "looks_up", "where is A1?", "thanks", session_input={"app_name": "bot", "user_id": "u"}
)
ASKS_FOR_A_CALL["conversation"][0] |= {
    "final_response": {"parts": [{"text": "A1 has shipped"}]},
    "intermediate_data": {"tool_uses": [{"name": "look_up", "args": {"order_id": "A1"}}]},
}
CASES = [
    ASKS_FOR_A_CALL,
    case("wrong_answer", "hello", answer="goodbye"),
    case("crashes", "crash"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """An ADK agent and its eval set, run twice a case with `--adk_results`."""
    project = Project(tmp_path_factory.mktemp("bots"))
    project.agent(AGENT)
    project.write("set.json", eval_set(*CASES))
    done = project.agent_eval("run", "bot", "set.json", "--num_runs", "2", "--adk_results")
    assert done.code == 1, done.stderr
    return project


@pytest.fixture(scope="module")
def result(project: Project) -> EvalSetResult:
    (file,) = (project.root / "bot/.adk/eval_history").iterdir()
    return parse_eval_set_result_json(file.read_bytes())


def test_statuses_and_scores_are_those_of_the_runs(result: EvalSetResult) -> None:
    found = [(case.eval_id, case.final_eval_status) for case in result.eval_case_results]

    assert found == [
        ("looks_up", EvalStatus.PASSED),
        ("looks_up", EvalStatus.PASSED),
        ("wrong_answer", EvalStatus.FAILED),
        ("wrong_answer", EvalStatus.FAILED),
        ("crashes", EvalStatus.FAILED),
        ("crashes", EvalStatus.FAILED),
    ]
    scores = {
        metric.metric_name: (metric.score, metric.threshold, metric.eval_status)
        for metric in result.eval_case_results[0].overall_eval_metric_results
    }
    assert scores["tool_trajectory_avg_score"] == (1.0, 1.0, EvalStatus.PASSED)
    assert scores["token_usage_v1"] == (18.0, None, EvalStatus.INFORMATIONAL)


def test_turns_are_there_with_what_was_expected_and_what_they_cost(result: EvalSetResult) -> None:
    first, second = result.eval_case_results[0].eval_metric_result_per_invocation

    assert first.expected_invocation
    assert first.expected_invocation.user_content == first.actual_invocation.user_content
    names = [metric.metric_name for metric in first.eval_metric_results]
    tokens = first.eval_metric_results[names.index("token_usage_v1")].details.token_usage_details
    assert tokens
    assert (tokens.input_tokens, tokens.output_tokens) == (20.0, 4.0)
    assert first.actual_invocation.app_details
    assert "desk" in first.actual_invocation.app_details.agent_details
    assert second.actual_invocation.final_response.parts[0].text == "thanks"


def test_session_is_the_conversation_as_adk_keeps_it(result: EvalSetResult) -> None:
    session = result.eval_case_results[0].session_details

    assert session
    assert (session.app_name, session.user_id) == ("bot", "u")
    assert [
        (
            event.author,
            next(
                name
                for name in ("text", "function_call", "function_response")
                if getattr(event.content.parts[0], name)
            ),
        )
        for event in session.events
    ] == [
        ("user", "text"),
        ("desk", "function_call"),
        ("desk", "function_response"),
        ("desk", "text"),
        ("user", "text"),
        ("desk", "text"),
    ]
    assert session.events[1].content.parts[0].thought_signature == b"\xff\xfe"
    times = [event.timestamp for event in session.events]
    assert times == sorted(times)
    crashed = result.eval_case_results[-1].session_details
    assert crashed
    assert crashed.events[-1].error_message == "socket reset"


def test_adk_finds_the_result_by_its_own_name(project: Project, result: EvalSetResult) -> None:
    manager = LocalEvalSetResultsManager(agents_dir=str(project.root))

    assert manager.list_eval_set_results("bot") == [result.eval_set_result_id]
    assert manager.get_eval_set_result("bot", result.eval_set_result_id) == result


def test_result_that_adk_wrote_again_is_reported_alike(project: Project, result: EvalSetResult) -> None:
    again = project.root / "again.evalset_result.json"
    again.write_text(result.model_dump_json(indent=2, by_alias=True))
    (first,) = (project.root / "bot/.adk/eval_history").iterdir()

    reports = [project.agent_eval("report", str(Path(file)), "--json").document for file in (first, again)]

    assert reports[0]["totals"] == reports[1]["totals"]
    assert [case["verdict"] for case in reports[0]["cases"]] == ["PASSED", "FAILED", "FAILED"]
    assert [case["metrics"] for case in reports[0]["cases"]] == [
        case["metrics"] for case in reports[1]["cases"]
    ]
