from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_eval.errors import InputError
from agent_eval.inputs.configs import default_config, load_config, parse_config
from agent_eval.metrics.configured import configured_metrics
from agent_eval.schema.config import BaseCriterion, EvalConfig

SIMULATOR = {"model": "gemini-2.5-flash"}


def refusal(document: Any, file: str = "c.json") -> str:
    """What is said of a document, written one key a line unless it is given as text."""
    text = document if isinstance(document, str) else json.dumps(document, indent=1)
    with pytest.raises(InputError) as refused:
        parse_config(text.encode(), file)
    return str(refused.value)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param(
            {"criteria": {"response_match_score": "high"}},
            'c.json:3: criteria.response_match_score: expected a number, got "high"',
            id="text for a threshold",
        ),
        pytest.param(
            {"criteria": {"response_match_score": {"treshold": 0.8}}},
            "c.json:3: criteria.response_match_score.threshold: required, but not there "
            "(`treshold`: did you mean `threshold`?)",
            id="slip in threshold",
        ),
        pytest.param(
            {"criteria": {}, "custom_metrics": {"mine": {"code_config": {"nme": "my.metric"}}}},
            "c.json:6: custom_metrics.mine.code_config.nme: unknown key `nme` (did you mean `name`?)",
            id="slip in a custom metric",
        ),
        pytest.param(
            {"criteria": {}, "user_simulator_config": {"type": "robot"}},
            "c.json:3: user_simulator_config: Input tag 'robot'",
            id="unknown simulator",
        ),
        pytest.param(
            {
                "criteria": {},
                "user_simulator_config": {**SIMULATOR, "custom_instructions": "{{ stop_signal }}"},
            },
            "user_simulator_config",
            id="instructions without their placeholders",
        ),
        pytest.param("[1]", "c.json:1: expected an object, got [1]", id="a list"),
        pytest.param("null", "c.json:1: expected an object, got null", id="null"),
        pytest.param("", "c.json: the file is empty", id="empty"),
        pytest.param('{\n"criteria": }', "c.json:2: not JSON: ", id="not JSON"),
        pytest.param('{"criteria": {"a": Infinity}}', "c.json:1: not JSON: ", id="infinite threshold"),
    ],
)
def test_refusal_names_file_line_place_and_what_to_do(document: Any, message: str) -> None:
    assert message in refusal(document)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("criteria: [\n", "c.yaml:2: not YAML: ", id="not YAML"),
        pytest.param(
            "criteria:\n  response_match_score: high\n",
            'c.yaml:2: criteria.response_match_score: expected a number, got "high"',
            id="text for a threshold",
        ),
        pytest.param(
            "criteria:\n  a: .inf\n", "c.yaml:2: criteria.a: expected a finite number, got inf", id="infinite"
        ),
        pytest.param("# nothing\n", "c.yaml: expected an object, got null", id="only a comment"),
        pytest.param(
            'criteria: !!python/object/apply:os.getcwd ["x"]\n', "c.yaml:1: not YAML: ", id="code in a tag"
        ),
    ],
)
def test_refusal_of_yaml_names_the_place(text: str, message: str) -> None:
    assert refusal(text, "c.yaml").startswith(message)


def test_everything_wrong_is_said_at_once() -> None:
    wrong = {"criteria": {"a": "x", "b": {"threshold": None}}, "custom_metrics": {"a": {}}}
    assert [line.split(": ")[1] for line in refusal(wrong).splitlines()] == [
        "criteria.a",
        "criteria.b.threshold",
        "custom_metrics.a.code_config",
    ]


@pytest.mark.parametrize("name", ["c.yaml", "c.YML"])
def test_yaml_is_read_by_the_files_name(name: str) -> None:
    text = """
criteria:
  response_match_score: 0.8
  tool_trajectory_avg_score: {threshold: 1, match_type: in_order}
"""
    same = {
        "criteria": {
            "response_match_score": 0.8,
            "tool_trajectory_avg_score": {"threshold": 1, "match_type": "in_order"},
        }
    }
    assert parse_config(text.encode(), name) == parse_config(json.dumps(same).encode(), "c.json")


def test_bare_number_and_object_are_the_same_criterion() -> None:
    number, written_out = EvalConfig(criteria={"a": 0.5}), EvalConfig(criteria={"a": {"threshold": 0.5}})
    assert number.criterion("a") == written_out.criterion("a") == BaseCriterion(threshold=0.5)


def test_missing_file_is_an_error_and_not_the_default(tmp_path: Path) -> None:
    (tmp_path / "eval_config.json").write_text("{}")
    path = tmp_path / "evalconfig.json"
    with pytest.raises(InputError) as refused:
        load_config(path)
    assert str(refused.value) == f"{path}: no such file (did you mean `eval_config.json`?)"


def test_default_config_gates_by_trajectory_and_response() -> None:
    loaded = default_config()
    assert loaded.path is None
    assert loaded.config.criteria == {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}


@pytest.mark.parametrize(
    ("criteria", "message"),
    [
        pytest.param(
            {"response_match_scor": 1},
            "c.json: criteria.response_match_scor: `response_match_scor` is neither a metric nor declared in "
            "`custom_metrics` (did you mean `response_match_score`?)",
            id="slip in a metric's name",
        ),
        pytest.param(
            {"tool_call_count_v1": 5}, "takes no threshold (remove it from `criteria`)", id="informational"
        ),
        pytest.param(
            {"tool_trajectory_avg_score": {"threshold": 1, "match_type": "SUPERSET"}},
            "c.json: criteria.tool_trajectory_avg_score.match_type: Input should be 'EXACT', 'IN_ORDER' or",
            id="unknown match type",
        ),
        pytest.param(
            {"final_response_match_v2": {"threshold": 1, "judge_model_options": {"judge_model": "best"}}},
            "criteria.final_response_match_v2.judge_model_options.judge_model: no provider is known for",
            id="unknown judge model",
        ),
    ],
)
def test_metric_that_cannot_be_set_up_is_refused_before_anything_runs(
    criteria: dict[str, Any], message: str
) -> None:
    config = parse_config(json.dumps({"criteria": criteria}).encode(), "c.json")
    with pytest.raises(InputError) as refused:
        configured_metrics(config, file="c.json")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        pytest.param("metric", "`metric` is no dotted path (write `module.function`)", id="no dot"),
        pytest.param(
            "no_such_module.metric", "cannot import `no_such_module`: ModuleNotFoundError", id="module"
        ),
        pytest.param("json.no_such", "module `json` has no `no_such`", id="attribute"),
        pytest.param("math.pi", "`math.pi` is float, not a function", id="not callable"),
    ],
)
def test_custom_metric_that_cannot_be_imported_is_refused(reference: str, message: str) -> None:
    document = {"criteria": {"mine": 1}, "custom_metrics": {"mine": {"code_config": {"name": reference}}}}
    config = parse_config(json.dumps(document).encode(), "c.json")
    with pytest.raises(InputError) as refused:
        configured_metrics(config)
    assert f"custom_metrics.mine.code_config.name: {message}" in str(refused.value)


def test_all_metrics_that_cannot_be_set_up_are_named_at_once() -> None:
    with pytest.raises(InputError) as refused:
        configured_metrics(EvalConfig(criteria={"one": 1, "response_match_score": 1, "other": 1}))
    assert [problem.path for problem in refused.value.problems] == ["criteria.one", "criteria.other"]
