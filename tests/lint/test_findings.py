"""What lint finds, where, and what it leaves alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_eval.codes.catalogue import topics
from agent_eval.errors import InputError
from agent_eval.inputs.project import Project, ProjectSettings
from agent_eval.lint.findings import Finding, Severity
from agent_eval.lint.linter import lint
from agent_eval.options import Options
from agent_eval.preparation import plan_evaluation

ROOT = Path(__file__).parents[2]

FIND = {"name": "find", "args": {"id": "A1"}}
LOOSE = {"criteria": {"tool_trajectory_avg_score": {"threshold": 1.0, "match_type": "IN_ORDER"}}}
ANSWER = "rubric_based_final_response_quality_v1"
JUDGE = {"judge_model_options": {"judge_model": "gemini-2.5-flash"}}


def turn(*calls: dict[str, Any], text: str | None = "ok", **keys: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"user_content": {"parts": [{"text": "hi"}]}, **keys}
    if text is not None:
        found["final_response"] = {"parts": [{"text": text}]}
    if calls:
        found["intermediate_data"] = {"tool_uses": list(calls)}
    return found


def case(name: str, *turns: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"eval_id": name, "conversation": list(turns) or [turn(FIND)], **keys}


def scenario(name: str = "s", prompt: str = "hi") -> dict[str, Any]:
    return {"eval_id": name, "conversation_scenario": {"starting_prompt": prompt, "conversation_plan": "ask"}}


def eval_set(*cases: dict[str, Any], eval_set_id: str = "demo", **keys: Any) -> dict[str, Any]:
    return {"eval_set_id": eval_set_id, "eval_cases": list(cases) or [case("a")], **keys}


def config(**keys: Any) -> dict[str, Any]:
    return LOOSE | keys


def criteria(**metrics: Any) -> dict[str, Any]:
    return {"criteria": metrics}


def rubric(name: str = "r", text: str | None = "Is short", **keys: Any) -> dict[str, Any]:
    return {"rubric_id": name, "rubric_content": {"text_property": text}, **keys}


def session(app: str = "bot", **state: Any) -> dict[str, Any]:
    return {"session_input": {"app_name": app, "user_id": "u", "state": state}}


def findings(folder: Path, files: dict[str, Any], named: tuple[str, ...] = ()) -> list[Finding]:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(
                content if isinstance(content, str) else json.dumps(content, indent=2), encoding="utf-8"
            )
    project = Project(folder, ProjectSettings(), None)
    return list(lint([str(folder / name) for name in named] or [str(folder)], project).findings)


DEMO = "demo.evalset.json"
CONFIG = "demo.eval_config.json"
SAME = {"name": "find", "args": {"id": 1}}

WRONG: dict[str, tuple[dict[str, Any], str, str | None]] = {
    # what is in the files, the code, and the place
    "not JSON": ({DEMO: "{"}, "AE701", None),
    "no cases": ({DEMO: {"eval_set_id": "demo", "eval_cases": []}, CONFIG: LOOSE}, "AE701", "eval_cases"),
    "live models": (
        {DEMO: eval_set(), CONFIG: config(live_model_config={})},
        "AE733",
        "live_model_config",
    ),
    "unknown key of a content": (
        {DEMO: eval_set(case("a", {"user_content": {"part": []}}))},
        "AE701",
        "eval_cases[0].conversation[0].user_content.part",
    ),
    "bad config": ({CONFIG: {"criteria": {"x": "high"}}}, "AE701", "criteria.x"),
    "byte order mark": (
        {DEMO: b"\xef\xbb\xbf" + json.dumps(eval_set()).encode(), CONFIG: LOOSE},
        "AE702",
        None,
    ),
    "key of the set in camelCase": (
        {DEMO: {"evalSetId": "demo", "eval_cases": [case("a")]}, CONFIG: LOOSE},
        "AE702",
        "evalSetId",
    ),
    "list of cases": ({DEMO: [case("a")], CONFIG: LOOSE}, "AE702", None),
    "list of turns": (
        {
            DEMO: [
                {"query": "q", "reference": "r", "expected_tool_use": [{"tool_name": "t", "tool_input": {}}]}
            ],
            CONFIG: LOOSE,
        },
        "AE702",
        None,
    ),
    "encoded twice": ({DEMO: json.dumps(json.dumps(eval_set())), CONFIG: LOOSE}, "AE702", None),
    "unknown key of a case": (
        {DEMO: eval_set(case("a", final_sesion_state={})), CONFIG: LOOSE},
        "AE703",
        "eval_cases[0].final_sesion_state",
    ),
    "unknown key of a session": (
        {
            DEMO: eval_set(case("a", session_input={"app_name": "b", "user_id": "u", "stat": {}})),
            CONFIG: LOOSE,
        },
        "AE703",
        "eval_cases[0].session_input.stat",
    ),
    "unknown key of a config": ({DEMO: eval_set(), CONFIG: config(num_runs=3)}, "AE703", "num_runs"),
    "unknown option": (
        {
            DEMO: eval_set(),
            CONFIG: criteria(tool_trajectory_avg_score={"threshold": 1, "match_typ": "IN_ORDER"}),
        },
        "AE703",
        "criteria.tool_trajectory_avg_score.match_typ",
    ),
    "two cases of one id": ({DEMO: eval_set(case("a"), case("a"))}, "AE710", "eval_cases[1].eval_id"),
    "path as id": ({DEMO: eval_set(case("../a")), CONFIG: LOOSE}, "AE711", "eval_cases[0].eval_id"),
    "comma in an id": ({DEMO: eval_set(case("a,b")), CONFIG: LOOSE}, "AE711", "eval_cases[0].eval_id"),
    "blank at the end of an id": (
        {DEMO: eval_set(case("a ")), CONFIG: LOOSE},
        "AE711",
        "eval_cases[0].eval_id",
    ),
    "path as id of the set": (
        {DEMO: eval_set(eval_set_id="evals/demo"), CONFIG: LOOSE},
        "AE711",
        "eval_set_id",
    ),
    "empty message": (
        {DEMO: eval_set(case("a", {"user_content": {"parts": []}}, turn(FIND))), CONFIG: LOOSE},
        "AE712",
        "eval_cases[0].conversation[0].user_content",
    ),
    "no turns": (
        {DEMO: eval_set(case("b"), {"eval_id": "a", "conversation": []}), CONFIG: LOOSE},
        "AE712",
        "eval_cases[1].conversation",
    ),
    "bad pattern": (
        {DEMO: eval_set(case("a", turn({"name": "f", "args": {"x": {"$regex": "("}}}))), CONFIG: LOOSE},
        "AE713",
        "eval_cases[0].conversation[0].intermediate_data.tool_uses[0].args",
    ),
    "middle turn without calls": (
        {DEMO: eval_set(case("a", turn(FIND), turn(), turn(FIND))), CONFIG: LOOSE},
        "AE714",
        "eval_cases[0].conversation[1]",
    ),
    "built-in tool": (
        {DEMO: eval_set(case("a", turn({"name": "google_search", "args": {}}))), CONFIG: LOOSE},
        "AE715",
        "eval_cases[0].conversation[0].intermediate_data.tool_uses[0]",
    ),
    "hand-over without a name": (
        {
            DEMO: eval_set(case("a", turn({"name": "transfer_to_agent", "args": {"agent": "x"}}))),
            CONFIG: LOOSE,
        },
        "AE716",
        "eval_cases[0].conversation[0].intermediate_data.tool_uses[0].args",
    ),
    "number among texts": (
        {DEMO: eval_set(case("a"), case("b"), case("c", turn(SAME))), CONFIG: LOOSE},
        "AE717",
        "eval_cases[2].conversation[0].intermediate_data.tool_uses[0].args.id",
    ),
    "text for a list in the state": (
        {
            DEMO: eval_set(
                case("a", **session(cart=[])), case("b", **session(cart=[])), case("c", **session(cart=""))
            ),
            CONFIG: LOOSE,
        },
        "AE718",
        "eval_cases[2].session_input.state.cart",
    ),
    "case without the set's tool": (
        {DEMO: eval_set(case("a"), case("b"), case("c"), case("d", turn())), CONFIG: LOOSE},
        "AE719",
        "eval_cases[3]",
    ),
    "tool in another spelling": (
        {
            DEMO: eval_set(
                case("a", turn({"name": "find_order", "args": {}})),
                case("b", turn({"name": "find_order", "args": {}})),
                case("c", turn({"name": "findOrder", "args": {}})),
            ),
            CONFIG: LOOSE,
        },
        "AE720",
        "eval_cases[2].conversation[0].intermediate_data.tool_uses[0].name",
    ),
    "number out of nowhere": (
        {
            DEMO: eval_set(
                case(
                    "a",
                    {
                        **turn(text="It costs 59."),
                        "intermediate_data": {
                            "tool_uses": [FIND],
                            "tool_responses": [{"name": "find", "response": {"p": 49}}],
                        },
                    },
                )
            ),
            CONFIG: LOOSE,
        },
        "AE721",
        "eval_cases[0].conversation[0].final_response",
    ),
    "app without an agent": (
        {DEMO: eval_set(case("a", **session("bott"))), CONFIG: LOOSE, "bot/agent.py": "root_agent = print"},
        "AE722",
        "eval_cases[0].session_input.app_name",
    ),
    "placeholder without a value": (
        {
            DEMO: eval_set(case("a", **session("bot", tier="x")), case("b", **session("bot"))),
            CONFIG: LOOSE,
            "bot/agent.py": "root_agent = Agent(instruction='You help {tier} users in {city?}, {app:x}')",
        },
        "AE723",
        "eval_cases[1].session_input.state",
    ),
    "two sets of one id": (
        {DEMO: eval_set(), "other.evalset.json": eval_set(), "eval_config.json": LOOSE},
        "AE724",
        "eval_set_id",
    ),
    "no criteria": ({CONFIG: {"criteria": {}}}, "AE731", "criteria"),
    "unknown metric": ({CONFIG: criteria(response_match=0.8)}, "AE732", "criteria.response_match"),
    "option of the wrong kind": (
        {CONFIG: criteria(tool_trajectory_avg_score={"threshold": 1, "match_type": "SOMEHOW"})},
        "AE733",
        "criteria.tool_trajectory_avg_score.match_type",
    ),
    "judge of nobody": (
        {CONFIG: criteria(safety_v1={"threshold": 1, "judge_model_options": {"judge_model": "gpt"}})},
        "AE733",
        "criteria.safety_v1.judge_model_options.judge_model",
    ),
    "informational metric": (
        {CONFIG: criteria(response_match_score=0.8, token_usage_v1=5)},
        "AE734",
        "criteria.token_usage_v1",
    ),
    "percent": ({CONFIG: criteria(response_match_score=80)}, "AE735", "criteria.response_match_score"),
    "more than five stars": (
        {CONFIG: criteria(response_evaluation_score={"threshold": 6, **JUDGE})},
        "AE735",
        "criteria.response_evaluation_score.threshold",
    ),
    "less than nothing": ({CONFIG: criteria(max_turns_v1=-1)}, "AE735", "criteria.max_turns_v1"),
    "threshold of zero": (
        {CONFIG: criteria(response_match_score=0)},
        "AE736",
        "criteria.response_match_score",
    ),
    "low threshold": ({CONFIG: criteria(response_match_score=0.1)}, "AE736", "criteria.response_match_score"),
    "pass rate of zero": (
        {CONFIG: config(multi_run_config={"num_runs": 3, "cross_run_criteria": 0})},
        "AE736",
        "multi_run_config.cross_run_criteria",
    ),
    "rule for no metric": (
        {CONFIG: config(multi_run_config={"cross_run_scoring_by_metric": {"x": "min_over_runs"}})},
        "AE737",
        "multi_run_config.cross_run_scoring_by_metric.x",
    ),
    "metric of one's own that is not used": (
        {CONFIG: config(custom_metrics={"own": {"code_config": {"name": "gates.own"}}}), "gates.py": ""},
        "AE738",
        "custom_metrics.own",
    ),
    "code that is not there": (
        {
            CONFIG: criteria(own=1) | {"custom_metrics": {"own": {"code_config": {"name": "gatez.own"}}}},
            "gates.py": "",
        },
        "AE739",
        "custom_metrics.own.code_config.name",
    ),
    "no dotted path": (
        {CONFIG: criteria(own=1) | {"custom_metrics": {"own": {"code_config": {"name": "own"}}}}},
        "AE739",
        "custom_metrics.own.code_config.name",
    ),
    "expected turns of a scenario": (
        {DEMO: eval_set(scenario(), case("b")), CONFIG: criteria(response_match_score=0.8)},
        "AE742",
        "criteria.response_match_score",
    ),
    "player of fixed turns": (
        {DEMO: eval_set(), CONFIG: criteria(per_turn_user_simulator_quality_v1={"threshold": 1, **JUDGE})},
        "AE742",
        "criteria.per_turn_user_simulator_quality_v1",
    ),
    "no expected answer": (
        {
            DEMO: eval_set(case("a", turn(FIND), turn(FIND, text=None))),
            CONFIG: criteria(response_match_score=0.8),
        },
        "AE743",
        "eval_cases[0].conversation[1]",
    ),
    "rubric without text": (
        {
            DEMO: eval_set(case("a", rubrics=[rubric(text="", type="FINAL_RESPONSE_QUALITY")])),
            CONFIG: criteria(**{ANSWER: {"threshold": 1, **JUDGE}}),
        },
        "AE744",
        "eval_cases[0]",
    ),
    "scenario that cannot begin": (
        {DEMO: eval_set(scenario(prompt=" ")), CONFIG: criteria(safety_v1={"threshold": 1, **JUDGE})},
        "AE744",
        "eval_cases[0].conversation_scenario",
    ),
    "rubric for nobody": (
        {DEMO: eval_set(case("a", rubrics=[rubric(type="TOOL_USE_QUALITY")])), CONFIG: LOOSE},
        "AE745",
        "eval_cases[0].rubrics[0]",
    ),
    "state that nobody checks": (
        {DEMO: eval_set(case("a", final_session_state={"x": 1})), CONFIG: LOOSE},
        "AE746",
        "eval_cases[0].final_session_state",
    ),
    "check without a state": (
        {DEMO: eval_set(), CONFIG: criteria(final_session_state_v1=1)},
        "AE746",
        "criteria.final_session_state_v1",
    ),
    "mock with a slip": (
        {DEMO: eval_set(), CONFIG: config(tool_mocks={"mocks": [{"tool": "fnid", "response": {}}]})},
        "AE747",
        "tool_mocks.mocks[0].tool",
    ),
    "no call at all": (
        {DEMO: eval_set(case("a", turn())), CONFIG: criteria(tool_trajectory_avg_score=1)},
        "AE748",
        None,
    ),
}


@pytest.mark.parametrize(("files", "code", "place"), WRONG.values(), ids=WRONG.keys())
def test_finds(tmp_path: Path, files: dict[str, Any], code: str, place: str | None) -> None:
    found = findings(tmp_path, files)
    assert [(one.code, one.path) for one in found] == [(code, place)]
    (one,) = found
    assert Path(one.file).name in files
    if place and files[Path(one.file).name] is not WRONG["list of turns"]:
        assert one.line is not None


@pytest.mark.usefixtures("own_imports")
@pytest.mark.parametrize("files", [files for files, _, _ in WRONG.values()], ids=WRONG.keys())
def test_what_run_refuses_is_an_error(
    tmp_path: Path, files: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = findings(tmp_path, {DEMO: eval_set(), "bot/agent.py": "root_agent = print", **files})
    (tmp_path / "bot" / "agent.py").write_text("root_agent = print")
    monkeypatch.chdir(tmp_path)
    refused = ""
    try:
        plan_evaluation(Options(agent="bot", eval_sets=(DEMO,)))
    except InputError as error:
        refused = str(error)
    tells = any(one.severity is Severity.ERROR or one.code == "AE739" for one in found)
    assert tells or not refused, refused


def test_every_code_of_lint_is_tried() -> None:
    assert {code for _, code, _ in WRONG.values()} == {
        topic.code for topic in topics() if topic.code >= "AE7"
    }


FINE = {
    "nothing special": {DEMO: eval_set(), CONFIG: LOOSE},
    "camelCase": {
        DEMO: {
            "eval_set_id": "demo",
            "eval_cases": [
                {
                    "evalId": "a",
                    "conversation": [
                        {
                            "userContent": {"parts": [{"text": "hi"}]},
                            "finalResponse": {"parts": [{"text": "ok"}]},
                            "intermediateData": {"toolUses": [FIND]},
                        }
                    ],
                    "sessionInput": {"appName": "bot", "userId": "u"},
                }
            ],
        },
        CONFIG: LOOSE,
    },
    "notes": {DEMO: eval_set(**{"$schema": "x"}), CONFIG: config(**{"$comment": "x"})},
    "an image says something": {
        DEMO: eval_set(
            case(
                "a",
                {
                    **turn(FIND),
                    "user_content": {"parts": [{"inline_data": {"mime_type": "image/png", "data": ""}}]},
                },
            )
        ),
        CONFIG: LOOSE,
    },
    "turn with calls left empty on purpose": {
        DEMO: eval_set(case("a", turn(FIND), turn(intermediate_data={"tool_uses": []}), turn(FIND))),
        CONFIG: LOOSE,
    },
    "thanks at the end": {DEMO: eval_set(case("a", turn(FIND), turn())), CONFIG: LOOSE},
    "case that must not call": {
        DEMO: eval_set(case("a"), case("b"), case("c"), case("d", turn(intermediate_data={"tool_uses": []}))),
        CONFIG: LOOSE,
    },
    "a pattern among texts": {
        DEMO: eval_set(case("a"), case("b", turn({"name": "find", "args": {"id": {"$type": "string"}}}))),
        CONFIG: LOOSE,
    },
    "whole numbers and fractions": {
        DEMO: eval_set(
            case("a", turn({"name": "f", "args": {"x": 1}})),
            case("b", turn({"name": "f", "args": {"x": 1.5}})),
        ),
        CONFIG: LOOSE,
    },
    "two tools of like names": {
        DEMO: eval_set(
            case("a", turn({"name": "light_on", "args": {}})),
            case("b", turn({"name": "light_on", "args": {}})),
            case("c", turn({"name": "light_off", "args": {}})),
        ),
        CONFIG: LOOSE,
    },
    "a total of what tools return": {
        DEMO: eval_set(
            case(
                "a",
                {
                    **turn(text="4 nights at 70 and a flight for 160: 440 euros."),
                    "user_content": {"parts": [{"text": "4 nights"}]},
                    "intermediate_data": {
                        "tool_uses": [FIND],
                        "tool_responses": [
                            {"name": "find", "response": {"night": 70, "flight": 160, "rest": [*range(9)]}}
                        ],
                    },
                },
            )
        ),
        CONFIG: LOOSE,
    },
    "placeholder that the source sets": {
        DEMO: eval_set(case("a", **session("bot"))),
        CONFIG: LOOSE,
        "bot/agent.py": "a = Agent(instruction='For {tier}')\ndef before(ctx): ctx.state['tier'] = 1\n",
    },
    "app of the folder that the eval set is in": {
        "bott/demo.evalset.json": eval_set(case("a", **session("bott"))),
        "bott/demo.eval_config.json": LOOSE,
        "bot/agent.py": "",
    },
    "code in the agent's folder": {
        DEMO: eval_set(case("a", **session("bot"))),
        CONFIG: criteria(own=1) | {"custom_metrics": {"own": {"code_config": {"name": "gates.own"}}}},
        "agents/bot/gates.py": "",
    },
    "limits may be low": {DEMO: eval_set(), CONFIG: criteria(max_tool_calls_v1=0)},
    "five stars": {DEMO: eval_set(), CONFIG: criteria(response_evaluation_score={"threshold": 4.5, **JUDGE})},
    "rubrics may be for a metric of one's own": {
        DEMO: eval_set(case("a", rubrics=[rubric(type="MINE")])),
        CONFIG: criteria(own=1) | {"custom_metrics": {"own": {"code_config": {"name": "gates.own"}}}},
        "gates.py": "",
    },
    "rubric of its metric's type": {
        DEMO: eval_set(case("a", rubrics=[rubric(type="FINAL_RESPONSE_QUALITY")])),
        CONFIG: criteria(**{ANSWER: {"threshold": 1, **JUDGE}}),
    },
    "scenarios with a metric that fits": {
        DEMO: eval_set(scenario()),
        CONFIG: criteria(safety_v1={"threshold": 1, **JUDGE}),
    },
    "mock of an expected tool": {
        DEMO: eval_set(),
        CONFIG: config(tool_mocks={"mocks": [{"tool": "find", "response": {}}]}),
    },
    "YAML": {DEMO: eval_set(), "demo.eval_config.yaml": "criteria:\n  response_match_score: 0.8\n"},
    "list of cases in the old form": {
        DEMO: [
            {
                "name": "a",
                "data": [
                    {
                        "query": "q",
                        "reference": "r",
                        "expected_tool_use": [{"tool_name": "t", "tool_input": {}}],
                    }
                ],
            }
        ],
        CONFIG: LOOSE,
    },
}


@pytest.mark.parametrize("files", FINE.values(), ids=FINE.keys())
def test_leaves_alone(tmp_path: Path, files: dict[str, Any]) -> None:
    assert findings(tmp_path, files) == []


def test_place_has_its_line(tmp_path: Path) -> None:
    text = '{\n  "eval_set_id": "demo",\n  "eval_cases": [{\n    "eval_id": "a/b",\n    "conversation": []}]}'
    found = findings(tmp_path, {DEMO: text, CONFIG: LOOSE})
    assert {(one.code, one.line) for one in found} >= {("AE711", 4), ("AE712", 5)}


def test_line_of_yaml(tmp_path: Path) -> None:
    (one,) = findings(tmp_path, {"eval_config.yaml": "# notes\ncriteria:\n  response_match: 0.8\n"})
    assert (one.code, one.line, one.hint) == ("AE732", 3, "did you mean `response_match_score`?")


def test_config_of_several_sets_is_told_of_once(tmp_path: Path) -> None:
    files = {
        "a.evalset.json": eval_set(eval_set_id="a"),
        "b.evalset.json": eval_set(eval_set_id="b"),
        "eval_config.json": criteria(respons_match_score=1),
    }
    assert [one.code for one in findings(tmp_path, files)] == ["AE732"]


def test_config_beside_a_set_that_is_named_alone_is_checked(tmp_path: Path) -> None:
    files = {DEMO: eval_set(), CONFIG: criteria(nothing=1)}
    assert [one.code for one in findings(tmp_path, files, (DEMO,))] == ["AE732"]
    assert [one.code for one in findings(tmp_path, {CONFIG: "{"}, (DEMO,))] == ["AE701"]


def test_default_config_is_told_of_at_the_set(tmp_path: Path) -> None:
    found = findings(tmp_path, {DEMO: eval_set(scenario())})
    assert [(one.code, Path(one.file).name) for one in found if one.severity is Severity.ERROR] == [
        ("AE742", DEMO),
        ("AE742", DEMO),
    ]
    assert all("under the default config" in one.message for one in found if one.code == "AE742")


def test_eval_sets_of_this_repository_have_no_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    project = Project(Path(), ProjectSettings(agents=("sample_agents",), evalsets=("evalsets",)), None)
    assert lint([], project).findings == ()


KEYS = (
    "eval_set_id evalSetId eval_cases eval_id conversation user_content parts text final_response "
    "intermediate_data tool_uses name args session_input state app_name user_id rubrics criteria threshold "
    "custom_metrics code_config multi_run_config tool_mocks mocks tool response query data "
    "response_match_score tool_trajectory_avg_score conversation_scenario"
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    SCALARS | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(eval_document=JSON, config_document=JSON)
def test_whatever_is_in_a_file_is_told_and_raises_nothing(
    tmp_path: Path, eval_document: Any, config_document: Any
) -> None:
    for one in findings(tmp_path, {DEMO: json.dumps(eval_document), CONFIG: json.dumps(config_document)}):
        assert one.message
