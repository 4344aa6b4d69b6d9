"""Inputs on which users of such tools stumbled, each for a whole kind of mistake."""

from __future__ import annotations

import re
from typing import Any

import pytest

from agent_eval.errors import InputError
from agent_eval.inputs.selectors import Selector, parse_selector
from agent_eval.schema.trace import get_all_tool_calls
from tests.cli_support import ECHO, Project

CAPITAL = {
    "eval_set_id": "demo",
    "eval_cases": [
        {
            "eval_id": "capital",
            "conversation": [
                {
                    "user_content": {"parts": [{"text": "Capital of France?"}]},
                    "final_response": {"parts": [{"text": "Paris"}]},
                }
            ],
        }
    ],
}
PARIS = "def root_agent(message, session):\n    return 'Paris'\n"


def test_c01_metric_that_raises_does_not_hide_behind_one_that_passes(project: Project) -> None:
    project.agent(PARIS, "myagent")
    project.write("set.json", CAPITAL)
    project.write(
        "config.json",
        {
            "criteria": {"response_match_score": 0.5, "latency_gate": 0.5},
            "custom_metrics": {"latency_gate": {"code_config": {"name": "gates.latency_gate"}}},
        },
    )
    project.write("gates.py", "def latency_gate(*arguments):\n    raise RuntimeError('quota exceeded')\n")

    done = project.agent_eval("run", "myagent", "set.json", "--config_file_path", "config.json")

    assert done.code == 3
    assert "latency_gate: RuntimeError: quota exceeded" in done.stdout
    case = project.case("capital")
    assert case["verdict"] == "NOT_EVALUATED"
    assert "quota exceeded" in case["metrics"]["latency_gate"]["reason"]
    match = case["metrics"]["response_match_score"]
    assert (match["score"], match["status"]) == (1.0, "PASSED")


GREET = {
    "eval_set_id": "demo",
    "eval_cases": [
        {
            "eval_id": "greet",
            "conversation": [
                {
                    "user_content": {"parts": [{"text": "hi"}]},
                    "final_response": {"parts": [{"text": "ok"}]},
                }
            ],
        }
    ],
}


def crashing_in(runs: str) -> str:
    return f"""\
        def root_agent(message, session):
            if session.run_index in {runs}:
                raise RuntimeError("socket reset")
            return "ok"
        """


def four_runs(max_crashed_runs: int) -> dict[str, Any]:
    return {
        "criteria": {"response_match_score": 0.8},
        "multi_run_config": {
            "num_runs": 4,
            "max_crashed_runs": max_crashed_runs,
            "cross_run_scoring_by_metric": {
                "response_match_score": {"method": "pass_rate", "threshold": 1.0}
            },
        },
    }


@pytest.mark.parametrize(
    ("max_crashed_runs", "code", "verdict"),
    [
        pytest.param(0, 1, "FAILED", id="no crash allowed"),
        pytest.param(1, 0, "PASSED", id="one crash allowed"),
    ],
)
def test_c02_crashed_run_is_counted_apart_and_shown(
    project: Project, max_crashed_runs: int, code: int, verdict: str
) -> None:
    project.agent(crashing_in("[1]"), "myagent")
    project.write("set.json", GREET)
    project.write("config.json", four_runs(max_crashed_runs))

    done = project.agent_eval("run", "myagent", "set.json", "--config_file_path", "config.json")

    assert done.code == code
    case = project.case("greet")
    assert (case["verdict"], case["flaky"]) == (verdict, True)
    counts = [case[key] for key in ("attempts", "scored", "passed", "crashed")]
    assert counts == [4, 3, 3, 1]
    assert case["runs"][1]["error"] == {"type": "RuntimeError", "message": "socket reset"}
    assert re.search(r"3/3 .*\n? *\+1 crashed", done.stdout)


def test_c02_case_whose_runs_all_crash_never_passes(project: Project) -> None:
    project.agent(crashing_in("range(4)"), "myagent")
    project.write("set.json", GREET)
    project.write("config.json", four_runs(10))

    done = project.agent_eval("run", "myagent", "set.json", "--config_file_path", "config.json")

    assert done.code != 0
    assert project.case("greet")["verdict"] != "PASSED"
    assert "socket reset" in done.stdout


@pytest.mark.parametrize(
    ("argument", "file", "case_ids"),
    [
        (r"C:\evals\desk.json", r"C:\evals\desk.json", ()),
        (r"C:\evals\desk.json:open,close", r"C:\evals\desk.json", ("open", "close")),
        ("D:/evals/desk.json:open", "D:/evals/desk.json", ("open",)),
        ("desk.json", "desk.json", ()),
        ("desk.json:open, close", "desk.json", ("open", "close")),
        ("desk.json:ns:open", "desk.json", ("ns:open",)),
        ("desk:open", "desk", ("open",)),
    ],
)
def test_c03_selector_is_a_file_and_case_ids(argument: str, file: str, case_ids: tuple[str, ...]) -> None:
    assert parse_selector(argument) == Selector(file, case_ids)


@pytest.mark.parametrize("argument", ["desk.json:", "desk.json:open,", "desk.json: ,open", ":open"])
def test_c03_colon_without_a_case_id_is_an_error(argument: str) -> None:
    with pytest.raises(InputError, match="empty selector"):
        parse_selector(argument)


def test_c04_config_that_does_not_exist_stops_before_any_agent_is_called(project: Project) -> None:
    project.agent(
        "from pathlib import Path\n\ndef root_agent(message, session):\n    Path('asked').touch()\n"
    )
    project.write("set.json", CAPITAL)
    project.write("config.json", {"criteria": {"response_match_score": 1.0}})

    done = project.agent_eval("run", "bot", "set.json", "--config_file_path", "confg.json")

    assert done.code == 2
    assert "confg.json: no such file (did you mean `config.json`?)" in done.stderr
    assert not (project.root / "asked").exists()
    assert not project.results()


def test_c04_default_config_is_said_to_be_used(project: Project) -> None:
    project.agent(PARIS, "myagent")
    project.write("set.json", CAPITAL)

    done = project.agent_eval("run", "myagent", "set.json")

    assert done.code == 0
    assert "the default, as no config was found" in done.stderr
    config = project.summary()["config"]
    assert config["path"] is None
    thresholds = {name: criterion["threshold"] for name, criterion in config["criteria"].items()}
    assert thresholds == {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}


TWO_CITIES = {
    "eval_set_id": "demo",
    "eval_cases": [
        {
            "eval_id": "two_cities",
            "conversation": [
                {
                    "user_content": {"parts": [{"text": "compare"}]},
                    "final_response": {"parts": [{"text": "done"}]},
                    "intermediate_data": {
                        "tool_uses": [
                            {"name": "lookup", "args": {"city": "Oslo"}},
                            {"name": "lookup", "args": {"city": "Lima"}},
                            {"name": "ping"},
                        ]
                    },
                }
            ],
        }
    ],
}
CALLS_IN_ANOTHER_ORDER = """\
    from agent_eval import Content, FunctionCall, Part


    def root_agent(message, session):
        calls = [("lookup", {"city": "Lima"}), ("lookup", {"city": "Oslo"}), ("ping", {})]
        yield Content(
            role="model", parts=[Part(function_call=FunctionCall(name=n, args=a)) for n, a in calls]
        )
        yield "done"
    """


@pytest.mark.parametrize(
    ("match_type", "score"), [("EXACT", 0.0), ("IN_ORDER", 0.0), ("ANY_ORDER", 1.0)], ids=str
)
def test_c05_parallel_calls_in_another_order(project: Project, match_type: str, score: float) -> None:
    project.agent(CALLS_IN_ANOTHER_ORDER, "myagent")
    project.write("set.json", TWO_CITIES)
    criterion = {"threshold": 1.0, "match_type": match_type}
    project.write("config.json", {"criteria": {"tool_trajectory_avg_score": criterion}})

    done = project.agent_eval("run", "myagent", "set.json", "--config", "config.json", "--quiet")

    assert done.code == (0 if score else 1)
    assert project.case("two_cities")["metrics"]["tool_trajectory_avg_score"]["score"] == score


def test_c06_turn_that_ends_with_a_tool_has_no_final_text_and_no_error(project: Project) -> None:
    turn = {
        "user_content": {"parts": [{"text": "draw sales"}]},
        "intermediate_data": {"tool_uses": [{"name": "draw", "args": {"kind": "sales"}}]},
    }
    project.agent(
        """\
        def draw(kind):
            return {"chart": kind}


        async def root_agent(message, session):
            await session.call_tool(draw, kind="sales")
        """,
        "myagent",
    )
    cases = [{"eval_id": "chart", "conversation": [turn]}]
    project.write("set.json", {"eval_set_id": "demo", "eval_cases": cases})
    project.write("config.json", {"criteria": {"tool_trajectory_avg_score": 1.0}})

    done = project.agent_eval(
        "run", "myagent", "set.json", "--config", "config.json", "--print_detailed_results"
    )

    assert done.code == 0
    assert 'call: draw(kind="sales")' in done.stdout
    assert "agent: (no final text)" in done.stdout
    trajectory = project.case("chart")["metrics"]["tool_trajectory_avg_score"]
    assert (trajectory["score"], trajectory["status"]) == (1.0, "PASSED")
    (record,) = project.records()
    assert record.error is None
    assert record.invocations[0].final_response is None
    (call,) = get_all_tool_calls(record.invocations[0].intermediate_data)
    assert call.args == {"kind": "sales"}


SCRIPTS = {
    "thai": "สวัสดีครับ",
    "japanese": "請求書は送付済みです",
    "russian": "Заказ отправлен",
    "arabic": "تم إرسال الطلب",
    "hindi": "आदेश भेज दिया गया है",
    "thumb": "👍",
}


def repeated(eval_id: str, text: str, expected: str, **keys: Any) -> dict[str, Any]:
    turn = {
        "user_content": {"parts": [{"text": text}]},
        "final_response": {"parts": [{"text": expected}]},
    }
    return {"eval_id": eval_id, "conversation": [turn], **keys}


def test_c07_same_text_in_other_scripts_matches(project: Project) -> None:
    cases = [repeated(eval_id, text, text) for eval_id, text in SCRIPTS.items()]
    cases.append(repeated("half", "Заказ отменён", "Заказ отправлен"))
    project.agent(ECHO, "myagent")
    project.write("set.json", {"eval_set_id": "demo", "eval_cases": cases})
    project.write("config.json", {"criteria": {"response_match_score": 1.0}})

    done = project.agent_eval(
        "run", "myagent", "set.json", "--config_file_path", "config.json", "--json", "--quiet"
    )

    assert done.code == 1
    scores = {case["eval_id"]: case["metrics"][0]["score"] for case in done.document["cases"]}
    assert scores == dict.fromkeys(SCRIPTS, 1.0) | {"half": 0.5}
    failed = [case["eval_id"] for case in done.document["cases"] if case["verdict"] == "FAILED"]
    assert failed == ["half"]


def test_c10_metric_for_which_lower_is_better_keeps_its_own_status(project: Project) -> None:
    cases = [
        {"eval_id": eval_id, "conversation": [{"user_content": {"parts": [{"text": spent}]}}]}
        for eval_id, spent in (("cheap", "0.02"), ("dear", "0.09"))
    ]
    project.agent(ECHO, "myagent")
    project.write("set.json", {"eval_set_id": "demo", "eval_cases": cases})
    project.write(
        "config.json",
        {
            "criteria": {"spend": 0.05},
            "custom_metrics": {"spend": {"code_config": {"name": "gates.spend"}}},
        },
    )
    project.write(
        "gates.py",
        """\
        from agent_eval import EvalStatus, EvaluationResult, PerInvocationResult


        def spend(metric, actual, expected, scenario):
            scores = [float(turn.final_response.text) for turn in actual]
            limit = metric.criterion.threshold
            statuses = [EvalStatus.PASSED if score <= limit else EvalStatus.FAILED for score in scores]
            rows = [PerInvocationResult(score=s, eval_status=e) for s, e in zip(scores, statuses)]
            return EvaluationResult(
                overall_score=sum(scores) / len(scores),
                overall_eval_status=statuses[0],
                per_invocation_results=rows,
            )
        """,
    )

    done = project.agent_eval("run", "myagent", "set.json", "--config_file_path", "config.json")

    assert done.code == 1
    cheap, dear = project.case("cheap"), project.case("dear")
    assert (cheap["verdict"], cheap["metrics"]["spend"]["score"]) == ("PASSED", 0.02)
    assert (dear["verdict"], dear["metrics"]["spend"]["score"]) == ("FAILED", 0.09)


def test_c11_each_case_sees_its_own_state(project: Project) -> None:
    gold = {"app_name": "myagent", "user_id": "u1", "state": {"tier": "gold"}}
    basic = {"app_name": "some_other_name", "user_id": "u1", "state": {"tier": "basic"}}
    project.agent(
        """\
        import asyncio


        async def root_agent(message, session):
            await asyncio.sleep(0.01)
            return f"Tier is {session.state.get('tier', 'unset')}"
        """,
        "myagent",
    )
    cases = [
        repeated("gold", "tier?", "Tier is gold", session_input=gold),
        repeated("basic", "tier?", "Tier is basic", session_input=basic),
        repeated("none", "tier?", "Tier is unset"),
    ]
    project.write("set.json", {"eval_set_id": "demo", "eval_cases": cases})
    project.write("config.json", {"criteria": {"response_match_score": 1.0}})

    done = project.agent_eval("run", "myagent", "set.json", "--config_file_path", "config.json")

    assert done.code == 0
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning:")]
    assert len(warnings) == 1
    assert all(name in warnings[0] for name in ("basic", "some_other_name", "myagent"))
    sessions = {record.eval_id: record.session for record in project.records()}
    states = {eval_id: session and session.state for eval_id, session in sessions.items()}
    assert states == {"gold": {"tier": "gold"}, "basic": {"tier": "basic"}, "none": {}}
    names = {eval_id: session and session.app_name for eval_id, session in sessions.items()}
    assert names == {"gold": "myagent", "basic": "some_other_name", "none": "myagent"}
    for record in project.records():
        assert record.invocations[0].intermediate_data
        assert record.invocations[0].final_response
