"""JSON Schemas for editors, checked by jsonschema: what is read fits, what is misspelled does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agent_eval import serde
from agent_eval.errors import InputError
from agent_eval.inputs.configs import load_config, parse_config
from agent_eval.inputs.evalsets import load_eval_set
from agent_eval.json_schemas import Kind, json_schema
from agent_eval.metrics.registry import DEFAULT_REGISTRY
from tests.cli_support import Project, case, eval_set

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def validators() -> dict[Kind, Draft202012Validator]:
    found = {kind: json_schema(kind, DEFAULT_REGISTRY) for kind in Kind}
    for schema in found.values():
        Draft202012Validator.check_schema(schema)
    return {kind: Draft202012Validator(schema) for kind, schema in found.items()}


def documents(*patterns: str) -> list[Path]:
    return sorted(
        path
        for pattern in patterns
        for folder in ("evalsets", "sample_agents", "tests/data")
        for path in (ROOT / folder).glob(f"**/{pattern}")
    )


def errors(validator: Draft202012Validator, document: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]


def test_every_eval_set_that_is_read_fits(validators: dict[Kind, Draft202012Validator]) -> None:
    checked = 0
    for path in documents("*.evalset.json", "*.test.json"):
        document = serde.from_json(path.read_bytes())
        try:
            load_eval_set(path)
        except InputError:
            continue
        if isinstance(document, dict):
            checked += 1
            assert errors(validators[Kind.EVALSET], document) == [], path
    assert checked > 10


def test_every_config_that_is_read_fits(validators: dict[Kind, Draft202012Validator]) -> None:
    checked = 0
    for path in documents("*config*.json", "*config*.yaml"):
        try:
            load_config(path)
        except InputError:
            continue
        text = path.read_text()
        document = serde.from_yaml(text) if path.suffix == ".yaml" else serde.from_json(text)
        checked += 1
        assert errors(validators[Kind.CONFIG], document) == [], path
    assert checked > 10


CONFIGS: dict[str, Any] = {
    "camelCase": {
        "criteria": {"hallucinations_v1": {"threshold": 1, "judgeModelOptions": {"numSamples": 1}}}
    },
    "a match type in words": {
        "criteria": {"tool_trajectory_avg_score": {"threshold": 1, "match_type": "in order"}}
    },
    "methods as names": {
        "criteria": {"response_match_score": 1},
        "multi_run_config": {
            "num_runs": 2,
            "cross_run_scoring_by_metric": {"response_match_score": "min_over_runs"},
        },
    },
    "a joint rate": {"criteria": {}, "multi_run_config": {"cross_run_criteria": {"pass_rate": 0.9}}},
    "a simulator without a type": {"criteria": {}, "user_simulator_config": {"model": "gemini-2.5-flash"}},
    "a schema key": {"$schema": "./config.schema.json", "criteria": {"response_match_score": 0.8}},
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_every_form_of_a_config_fits(validators: dict[Kind, Draft202012Validator], config: Any) -> None:
    parse_config(json.dumps(config).encode(), "config.json")
    assert errors(validators[Kind.CONFIG], config) == []


WRONG: dict[str, tuple[Kind, Any]] = {
    "a set without cases": (Kind.EVALSET, {"eval_set_id": "x"}),
    "a case without an id": (Kind.EVALSET, {"eval_set_id": "x", "eval_cases": [{"conversation": []}]}),
    "a misspelled key": (
        Kind.EVALSET,
        eval_set({"eval_id": "a", "conversation": [{"user_content": {}, "final_respons": {}}]}),
    ),
    "a threshold in words": (Kind.CONFIG, {"criteria": {"response_match_score": "high"}}),
    "a criterion without a threshold": (Kind.CONFIG, {"criteria": {"response_match_score": {}}}),
    "a rate above one": (Kind.CONFIG, {"multi_run_config": {"cross_run_criteria": 2}}),
}


@pytest.mark.parametrize(("kind", "document"), WRONG.values(), ids=WRONG.keys())
def test_slips_are_noticed(validators: dict[Kind, Draft202012Validator], kind: Kind, document: Any) -> None:
    assert errors(validators[kind], document)


def test_results_fit_the_schema_that_the_command_prints(project: Project) -> None:
    project.agent()
    document = {"$schema": "./evalset.schema.json"} | eval_set(case("a"), case("b", answer="no"))
    project.write("set.json", document)
    assert project.agent_eval("run", "bot", "set.json", "--num_runs", "2").code == 1

    printed = {kind: project.agent_eval("schema", kind.value) for kind in Kind}

    assert {outcome.code for outcome in printed.values()} == {0}
    assert errors(Draft202012Validator(printed[Kind.RESULT].document), project.summary()) == []
    criteria = printed[Kind.CONFIG].document["properties"]["criteria"]["properties"]
    assert "final_response_match_v2" in criteria
    described = printed[Kind.EVALSET].document["$defs"]["EvalCase"]["properties"]["final_session_state"]
    assert described["description"].startswith("The state expected at the end")
    assert "did you mean `config`" in project.agent_eval("schema", "confg").stderr
