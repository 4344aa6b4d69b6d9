"""Judged metrics from the command line, with real clients and a real model server on this machine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli_support import Project, case, eval_set
from tests.model_server import KEY, Asked, ModelServer, blocked, cut_off, failing, malformed, said

pytestmark = pytest.mark.slow

QUICK = {"http_options": {"retry_options": {"attempts": 2, "initial_delay": 0.01}}}

CITY = {"rubric_id": "city", "rubric_content": {"text_property": "Names the city."}}

ANSWERING = """\
    def root_agent(message, session):
        open("asked", "a").close()
        return "Paris"
"""


def judged(
    metric: str, threshold: float = 0.8, model: str = "gemini-2.5-flash", **options: Any
) -> dict[str, Any]:
    """A config with one judged metric."""
    asked = {"judge_model": model, "judge_model_config": QUICK, "num_samples": 1} | options.pop("asked", {})
    return {"criteria": {metric: {"threshold": threshold, "judge_model_options": asked, **options}}}


@pytest.fixture
def capital(project: Project, model_server: ModelServer) -> Project:
    """An agent that knows one capital, and a case that asks for it."""
    project.agent(ANSWERING)
    project.write("set.json", eval_set(case("capital", "Capital of France?", answer="It is Paris.")))
    project.write("eval_config.json", judged("final_response_match_v2"))
    return project


def any_answer(asked: Asked) -> Any:
    """A good answer of the shape that is asked for."""
    return _filled(asked.schema)


def _filled(schema: dict[str, Any]) -> Any:
    match schema["type"]:
        case "object":
            return {name: _filled(inner) for name, inner in schema["properties"].items()}
        case "array":
            return [_filled(schema["items"])]
        case "integer":
            return schema.get("maximum", 1)
    return schema["enum"][0] if "enum" in schema else "so it is"


CONVERSATION_METRICS = {
    "final_response_match_v2": {},
    "rubric_based_final_response_quality_v1": {"rubrics": [CITY]},
    "rubric_based_tool_use_quality_v1": {"rubrics": [CITY]},
    "rubric_based_multi_turn_trajectory_quality_v1": {"rubrics": [CITY]},
    "hallucinations_v1": {},
    "safety_v1": {},
    "response_evaluation_score": {},
    "multi_turn_task_success_v1": {},
    "multi_turn_trajectory_quality_v1": {},
    "multi_turn_tool_use_quality_v1": {},
}


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "openai/local"])
def test_every_metric_of_a_conversation_is_judged(
    capital: Project, model_server: ModelServer, model: str
) -> None:
    model_server.always = any_answer
    criteria = {
        name: judged(name, 0.5, model, **options)["criteria"][name]
        for name, options in CONVERSATION_METRICS.items()
    }
    capital.write("eval_config.json", {"criteria": criteria})

    done = capital.agent_eval("run", "bot", "set.json", "--json")

    assert done.code == 0, done.stderr
    (found,) = done.document["cases"]
    scores = {metric["metric_name"]: metric["score"] for metric in found["metrics"][: len(criteria)]}
    assert scores == {name: 5.0 if name == "response_evaluation_score" else 1.0 for name in criteria}
    (judge,) = done.document["results"][0]["totals"]["judges"]
    assert judge["model"] == model
    assert judge["requests"] == len(model_server.requests) >= len(criteria)
    assert judge["input_tokens"] == 10 * judge["requests"]


def test_player_of_a_scenario_is_judged_too(capital: Project, model_server: ModelServer) -> None:
    model_server.always = any_answer
    scenario = {"starting_prompt": "Hello.", "conversation_plan": "You want to know the capital of France."}
    capital.write("set.json", eval_set({"eval_id": "asks", "conversation_scenario": scenario}))
    player = {"type": "scripted", "turns": ["What is the capital of France?"]}
    config = judged("per_turn_user_simulator_quality_v1") | {"user_simulator_config": player}
    capital.write("eval_config.json", config)

    done = capital.agent_eval("run", "bot", "set.json", "--json")

    assert done.code == 0, done.stderr
    (found,) = done.document["cases"]
    assert found["metrics"][0]["score"] == 1.0
    assert any("capital of France" in asked.prompt for asked in model_server.requests)


def test_rationale_of_a_failed_verdict_is_shown_and_kept(capital: Project, model_server: ModelServer) -> None:
    model_server.always = {"reasoning": "It names no country.", "verdict": "invalid"}

    done = capital.agent_eval("run", "bot", "set.json")

    assert done.code == 1
    assert "It names no country." in done.stdout
    assert "judge gemini-2.5-flash: 1 request, 15 tokens" in done.stdout
    (record,) = capital.records()
    (row,) = record.metrics[0].per_invocation
    assert (row.score, row.rationale) == (0.0, "It names no country.")
    assert KEY not in "".join(file.read_text() for file in (capital.root / ".agent_eval").rglob("*.json*"))


def test_headers_for_the_judge_are_sent_and_kept_nowhere(capital: Project, model_server: ModelServer) -> None:
    options = QUICK["http_options"] | {"headers": {"X-Gateway": "gateway-secret"}}
    asked = {"judge_model_config": {"http_options": options}}
    capital.write("eval_config.json", judged("final_response_match_v2", asked=asked))
    model_server.always = any_answer

    done = capital.agent_eval("run", "bot", "set.json", "--json")

    assert model_server.requests[0].headers["x-gateway"] == "gateway-secret"
    kept = [file.read_bytes() for file in (capital.root / ".agent_eval").rglob("*") if file.is_file()]
    assert "gateway-secret" not in done.stdout + done.stderr
    assert not any(b"gateway-secret" in content for content in kept)


def test_prices_of_the_project_make_a_cost(capital: Project, model_server: ModelServer) -> None:
    capital.write(
        "pyproject.toml",
        """\
        [tool.agent-eval.judge-prices."gemini-2.5-flash"]
        input-price = 100_000
        output-price = 200_000
        """,
    )
    model_server.always = any_answer

    done = capital.agent_eval("run", "bot", "set.json")

    assert "judge gemini-2.5-flash: 1 request, 15 tokens, cost 2.0000" in done.stdout


def test_majority_is_asked_for_no_longer_than_it_takes(capital: Project, model_server: ModelServer) -> None:
    capital.write("eval_config.json", judged("final_response_match_v2", asked={"num_samples": 5}))
    model_server.always = any_answer

    assert capital.agent_eval("run", "bot", "set.json").code == 0
    assert len(model_server.requests) == 3


def test_second_run_asks_nothing(capital: Project, model_server: ModelServer) -> None:
    model_server.always = any_answer
    first = capital.agent_eval("run", "bot", "set.json", "--json")
    again = capital.agent_eval("run", "bot", "set.json", "--json")
    anew = capital.agent_eval("run", "bot", "set.json", "--json", "--no_judge_cache")

    asked = [done.document["results"][0]["totals"]["judges"][0] for done in (first, again, anew)]
    assert [(judge["requests"], judge["cached"]) for judge in asked] == [(1, 0), (0, 1), (1, 0)]
    assert len(model_server.requests) == 2


def test_cache_tells_what_it_holds_and_is_emptied(capital: Project, model_server: ModelServer) -> None:
    model_server.always = any_answer
    assert capital.agent_eval("cache", "stats", "--json").document["entries"] == 0
    capital.agent_eval("run", "bot", "set.json")

    held = capital.agent_eval("cache", "stats")
    cleared = capital.agent_eval("cache", "clear", "--json")

    assert "1 answer, " in held.stdout
    assert cleared.document["entries"] == 1
    assert capital.agent_eval("cache", "stats", "--json").document["entries"] == 0


@pytest.mark.parametrize("where", [[], ["--workers", "2"]], ids=["here", "over all workers"])
def test_calls_stop_at_the_limit_and_what_is_left_is_not_evaluated(
    capital: Project, model_server: ModelServer, where: list[str]
) -> None:
    capital.write("set.json", eval_set(*(case(name, f"{name}?", answer="Paris") for name in "abc")))
    model_server.always = any_answer

    done = capital.agent_eval("run", "bot", "set.json", "--max_judge_calls", "2", "--json", *where)

    assert done.code == 3
    totals = done.document["totals"]
    assert (totals["passed"], totals["not_evaluated"]) == (2, 1)
    (left,) = [one for one in done.document["cases"] if one["verdict"] == "NOT_EVALUATED"]
    assert "--max_judge_calls" in left["metrics"][0]["reason"]
    assert len(model_server.requests) == 2


UNUSABLE = {
    "quota": (failing(429), "429"),
    "server": (failing(500), "500"),
    "answer blocked": (blocked(), "SAFETY"),
    "prompt blocked": (blocked(prompt=True), "blocked"),
    "cut off": (cut_off('{"reasoning": "It is'), "cut off"),
    "no response": (malformed(), ""),
    "no verdict": ("I cannot judge this.", "I cannot judge this."),
}


@pytest.mark.parametrize(("answer", "told"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_what_a_judge_fails_at_is_not_evaluated(
    capital: Project, model_server: ModelServer, answer: Any, told: str
) -> None:
    model_server.always = answer

    done = capital.agent_eval("run", "bot", "set.json", "--json")

    assert done.code == 3
    (found,) = done.document["cases"]
    assert found["verdict"] == "NOT_EVALUATED"
    assert told in found["metrics"][0]["reason"]
    assert found["metrics"][0]["score"] is None
    assert KEY not in done.stdout + done.stderr


def test_quota_that_is_there_again_after_a_while_harms_nothing(
    capital: Project, model_server: ModelServer
) -> None:
    model_server.answers(failing(429, retry_after=0.05))
    model_server.always = any_answer

    assert capital.agent_eval("run", "bot", "set.json").code == 0
    assert len(model_server.requests) == 2


def test_judge_that_does_not_exist_is_told_before_any_agent_runs(
    capital: Project, model_server: ModelServer
) -> None:
    model_server.models = ["gemini-2.5-pro"]

    done = capital.agent_eval("run", "bot", "set.json")

    assert done.code == 2
    assert "gemini-2.5-flash" in done.stderr
    assert not (capital.root / "asked").exists()
    assert not (capital.root / ".agent_eval/results").exists()


def test_judge_without_a_key_is_told_before_any_agent_runs(capital: Project) -> None:
    done = capital.agent_eval("run", "bot", "set.json", GEMINI_API_KEY="")

    assert done.code == 2
    assert "set GEMINI_API_KEY" in done.stderr
    assert not (capital.root / "asked").exists()


def test_without_preflight_the_agent_runs_and_the_judge_fails(
    capital: Project, model_server: ModelServer
) -> None:
    model_server.models = []

    done = capital.agent_eval("run", "bot", "set.json", "--no_preflight")

    assert done.code == 3
    assert (capital.root / "asked").exists()
    assert model_server.preflights == []


C08 = {
    'fenced: ```json {"reasoning":"same","is_the_agent_response_valid":"valid"} ```': 0,
    '{"reasoning":"same","is_the_agent_response_valid":"VALID"}': 0,
    '{"reasoning":"same","is_the_agent_response_valid": True}': 0,
    "{'reasoning':'same','is_the_agent_response_valid':'valid'}": 0,
    '{"reasoning":"half","is_the_agent_response_valid":"partially valid"}': 1,
    "I cannot judge this.": 3,
}


@pytest.mark.parametrize(("reply", "code"), C08.items())
def test_c08_verdicts_in_the_shapes_models_really_send(
    capital: Project, model_server: ModelServer, reply: str, code: int
) -> None:
    model_server.always = said(reply)

    done = capital.agent_eval("run", "bot", "set.json", "--json")

    assert done.code == code
    (found,) = done.document["cases"]
    assert found["metrics"][0]["score"] == {0: 1.0, 1: 0.0, 3: None}[code]
    if code == 3:
        assert "I cannot judge this." in found["metrics"][0]["reason"]
        assert len(model_server.requests) == 2


def test_c09_rubric_that_the_judge_forgot(capital: Project, model_server: ModelServer) -> None:
    texts = {"city": "Names the city", "relevant": "Answers the question asked", "short": "Uses one sentence"}
    rubrics = [{"rubric_id": name, "rubric_content": {"text_property": text}} for name, text in texts.items()]
    capital.write("eval_config.json", judged("rubric_based_final_response_quality_v1", rubrics=rubrics))
    model_server.always = said(
        "Property: Names the city\nRationale: fine\nVerdict: yes\n\n"
        "Property: Answers the question asked\nRationale: fine\nVerdict: yes\n"
    )

    done = capital.agent_eval("run", "bot", "set.json", "--json")

    assert done.code == 3
    (found,) = done.document["cases"]
    assert "short" in found["metrics"][0]["reason"]
    assert len(model_server.requests) == 2


PICTURE = {"inline_data": {"mime_type": "image/png", "data": "aGk="}}


def test_image_of_the_user_is_shown_to_the_judge(capital: Project, model_server: ModelServer) -> None:
    turn = case("capital", "Capital of France?", answer="It is Paris.")
    turn["conversation"][0]["user_content"]["parts"].append(PICTURE)
    capital.write("set.json", eval_set(turn))
    model_server.always = any_answer

    assert capital.agent_eval("run", "bot", "set.json").code == 0
    assert model_server.requests[0].media == ["image/png"]


def test_judge_that_cannot_see_the_image_is_warned_of(capital: Project, model_server: ModelServer) -> None:
    turn = case("capital", "Capital of France?", answer="It is Paris.")
    turn["conversation"][0]["user_content"]["parts"].append(PICTURE)
    capital.write("set.json", eval_set(turn))
    capital.write("eval_config.json", judged("final_response_match_v2", model="openai/text-only"))

    def blind(asked: Asked) -> Any:
        return failing(400, "this model does not support image input") if asked.media else any_answer(asked)

    model_server.always = blind

    done = capital.agent_eval("run", "bot", "set.json")

    assert done.code == 0
    assert "image/png" in done.stdout


def test_callable_of_ones_own_judges_without_network_or_key(capital: Project) -> None:
    capital.write("eval_config.json", judged("final_response_match_v2", model="python/verdicts:judge"))
    capital.write(
        "verdicts.py", 'def judge(request):\n    return \'{"reasoning": "", "verdict": "valid"}\'\n'
    )

    assert capital.agent_eval("run", "bot", "set.json", GEMINI_API_KEY="").code == 0


def test_prompt_is_shown_and_nothing_is_sent(capital: Project, model_server: ModelServer) -> None:
    done = capital.agent_eval("judge", "show", "set.json", "--case", "capital")

    assert done.code == 0
    assert "Capital of France?" in done.stdout
    assert "final_response_match_v2, judged by gemini-2.5-flash" in done.stdout
    assert model_server.requests == model_server.preflights == []


def test_prompt_shown_for_a_recorded_run_is_the_one_that_was_sent(
    capital: Project, model_server: ModelServer
) -> None:
    model_server.always = any_answer
    result = capital.agent_eval("run", "bot", "set.json", "--json").document["results"][0]["files"]["summary"]

    done = capital.agent_eval("judge", "show", "set.json", "--case", "capital", "--result", result, "--json")

    (metric,) = done.document["metrics"]
    (request,) = metric["requests"]
    (asked,) = model_server.requests
    texts = [part["text"] for content in request["contents"] for part in content["parts"]]
    assert "\n".join(texts) == asked.prompt
    assert request["system"] == asked.system
    assert request["schema"] == asked.schema


SHOW_ERRORS = {
    "case": (("set.json", "--case", "capitol"), "did you mean `capital`"),
    "metric": (("set.json", "--case", "capital", "--metric", "safety_v2"), "no judged metric"),
    "set": (("sett.json", "--case", "capital"), "no such file"),
}


@pytest.mark.parametrize(("arguments", "told"), SHOW_ERRORS.values(), ids=SHOW_ERRORS.keys())
def test_what_cannot_be_shown_is_told(capital: Project, arguments: tuple[str, ...], told: str) -> None:
    done = capital.agent_eval("judge", "show", *arguments)

    assert done.code == 2
    assert told in done.stderr


def labelled(*labels: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"eval_id": "capital", "response": text, "label": label} for text, label in labels]


def lenient(asked: Asked) -> Any:
    """Passes whatever names Paris."""
    verdict = "valid" if "Paris!" in asked.prompt else "invalid"
    return {"reasoning": f"It is {verdict}.", "verdict": verdict}


def test_judge_is_measured_against_people(capital: Project, model_server: ModelServer) -> None:
    model_server.always = lenient
    said_by_people = [("Paris!", "pass"), ("Not Paris!", "fail"), ("Lyon", "fail"), ("PARIS", "pass")]
    capital.write("labels.json", labelled(*said_by_people))

    done = capital.agent_eval("judge", "check", "set.json", "--labels", "labels.json", "--json")

    assert done.code == 0, done.stderr
    (found,) = done.document["metrics"]
    assert found["counts"] == {
        "both_pass": 1,
        "both_fail": 1,
        "false_pass": 1,
        "false_fail": 1,
        "unscored": 0,
    }
    assert (found["agreement"], found["kappa"], found["false_pass_rate"]) == (0.5, 0.0, 0.5)
    assert [one["response"] for one in found["disagreed"]] == [["Not Paris!"], ["PARIS"]]
    shown = capital.agent_eval("judge", "check", "set.json", "--labels", "labels.json")
    assert "judge and people differ" in shown.stdout
    assert "It is valid." in shown.stdout
    assert all(len(line) <= 80 for line in shown.stdout.splitlines())


def test_labels_of_recorded_runs(capital: Project, model_server: ModelServer) -> None:
    model_server.always = any_answer
    result = capital.agent_eval("run", "bot", "set.json", "--json").document["results"][0]["files"]["summary"]
    capital.write("labels.jsonl", json.dumps({"eval_id": "capital", "label": True}) + "\n")

    done = capital.agent_eval(
        "judge", "check", "set.json", "--labels", "labels.jsonl", "--result", result, "--json"
    )

    (found,) = done.document["metrics"]
    assert found["counts"]["both_pass"] == 1
    assert found["kappa"] is None


def test_judge_without_a_verdict_counts_for_nobody(capital: Project, model_server: ModelServer) -> None:
    model_server.always = "I cannot judge this."
    capital.write("labels.json", labelled(("Paris!", "pass")))

    done = capital.agent_eval("judge", "check", "set.json", "--labels", "labels.json", "--json")

    assert done.code == 3
    (found,) = done.document["metrics"]
    assert (found["agreement"], found["counts"]["unscored"]) == (None, 1)


LABEL_ERRORS: dict[str, tuple[Any, str]] = {
    "unknown case": (
        [{"eval_id": "capitol", "response": "Paris", "label": "pass"}],
        "did you mean `capital`",
    ),
    "no response": ([{"eval_id": "capital", "label": "pass"}], "--result"),
    "other turns": (
        [{"eval_id": "capital", "response": ["a", "b"], "label": "pass"}],
        "2 responses for 1 turns",
    ),
    "label": ([{"eval_id": "capital", "response": "Paris", "label": "good"}], "[0].label"),
    "key": ([{"eval_id": "capital", "respones": "Paris", "label": "pass"}], "did you mean `response`"),
    "none": ([], "holds no labels"),
    "no list": ({"eval_id": "capital"}, "expected a list"),
}


@pytest.mark.parametrize(("labels", "told"), LABEL_ERRORS.values(), ids=LABEL_ERRORS.keys())
def test_labels_that_do_not_fit_are_told(capital: Project, labels: Any, told: str) -> None:
    capital.write("labels.json", labels)

    done = capital.agent_eval("judge", "check", "set.json", "--labels", "labels.json")

    assert done.code == 2
    assert told in done.stderr
    assert "labels.json" in done.stderr or "set.json" in done.stderr
