"""Simulated users in this process: what their models are asked, and what becomes of the answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_eval.errors import InputError
from agent_eval.options import Options
from agent_eval.pipeline import evaluate
from agent_eval.preparation import plan_evaluation
from agent_eval.schema.personas import PERSONAS
from agent_eval.schema.result import RunRecord
from tests.cli_support import Project, case, eval_set
from tests.model_server import Asked, ModelServer, cut_off, empty, failing, said
from tests.simulation.support import IMPATIENT, MODEL, SURE, played_by, scenario, talk

pytestmark = pytest.mark.usefixtures("own_imports")


@pytest.fixture
def desk(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An agent that says `sure` to everything, and one scenario, in the current folder."""
    monkeypatch.chdir(project.root)
    project.agent(SURE)
    project.write("set.json", eval_set(scenario()))
    project.write("eval_config.json", played_by({"model": MODEL}))
    return project


def run(project: Project, **options: Any) -> list[RunRecord]:
    """The records of a run of `bot` on the set."""
    asyncio.run(evaluate(plan_evaluation(Options(agent="bot", eval_sets=("set.json",), **options))))
    return project.records()


def refusal(project: Project, **options: Any) -> str:
    """What is told of a set that cannot be run."""
    with pytest.raises(InputError) as refused:
        plan_evaluation(Options(agent="bot", eval_sets=("set.json",), **options))
    return str(refused.value)


# What the model is asked


def test_model_sees_the_conversation_from_the_users_side(desk: Project, model_server: ModelServer) -> None:
    model_server.answers("The one by the window.", "</finished>")

    run(desk)

    first, second = model_server.requests
    assert "Book one desk, then stop." in first.system
    assert "</finished>" in first.system
    opening, *rest = second.turns
    assert opening[0] == "user"
    assert rest == [
        ("model", "Book me a desk"),
        ("user", "sure"),
        ("model", "The one by the window."),
        ("user", "sure"),
    ]
    assert first.turns == second.turns[:3]


def test_settings_and_a_seed_of_each_run_reach_the_model(desk: Project, model_server: ModelServer) -> None:
    settings = {"temperature": 0.7, "max_output_tokens": 200}
    desk.write("eval_config.json", played_by({"model": MODEL, "model_configuration": settings}))
    model_server.always = "</finished>"

    for seed in (1, 1, 2):
        run(desk, num_runs=2, parallelism=1, seed=seed)

    sent = [asked.settings for asked in model_server.requests]
    assert all(one["temperature"] == 0.7 and one["maxOutputTokens"] == 200 for one in sent)
    seeds = [one["seed"] for one in sent]
    assert seeds[:2] == seeds[2:4]
    assert len(set(seeds)) == 4
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_seed_of_the_config_is_used_as_it_is(desk: Project, model_server: ModelServer) -> None:
    desk.write("eval_config.json", played_by({"model": MODEL, "model_configuration": {"seed": 7}}))
    model_server.always = "</finished>"

    run(desk, num_runs=2)

    assert [asked.settings["seed"] for asked in model_server.requests] == [7, 7]


def test_endpoint_that_refuses_seeds_is_asked_without(desk: Project, model_server: ModelServer) -> None:
    def without_seeds(asked: Asked) -> Any:
        if "seed" in asked.settings:
            return failing(400, "Extra inputs are not permitted: seed")
        return "more" if len(asked.turns) < 6 else "</finished>"

    desk.write("eval_config.json", played_by({"model": "openai/small"}))
    model_server.always = without_seeds

    (record,) = run(desk)
    assert record.error is None
    assert ["seed" in asked.settings for asked in model_server.requests] == [True, False, False, False]


@pytest.mark.parametrize("shown", [False, True])
def test_tool_calls_are_shown_to_the_user_on_request_only(
    desk: Project, model_server: ModelServer, shown: bool
) -> None:
    desk.agent(
        """\
        def free(floor):
            return ["D7"]

        async def root_agent(message, session):
            yield "Let me look."
            await session.call_tool(free, floor=2)
            yield "D7 is free."
        """
    )
    desk.write("eval_config.json", played_by({"model": MODEL, "include_function_calls": shown}))
    model_server.always = "</finished>"

    run(desk)

    (asked,) = model_server.requests
    agent_said = asked.turns[-1][1]
    assert agent_said.startswith("Let me look.")
    assert agent_said.endswith("D7 is free.")
    assert ('[calls free with {"floor":2}]' in agent_said) is shown
    assert ('[free returned {"result":["D7"]}]' in agent_said) is shown


def test_thoughts_of_the_agent_are_kept_from_the_user(desk: Project, model_server: ModelServer) -> None:
    desk.agent(
        """\
        from agent_eval import Content, Part

        def root_agent(message, session):
            return Content(parts=[Part(text="they want D7", thought=True), Part(text="sure")])
        """
    )
    model_server.always = "</finished>"

    run(desk)

    assert model_server.requests[0].turns[-1] == ("user", "sure")


def test_instructions_of_ones_own_are_filled_in(desk: Project, model_server: ModelServer) -> None:
    template = (
        "Plan: {{ conversation_plan }} So far: {{ conversation_history }} End: {{ stop_signal }} "
        "You: {{ persona.description }}{% for b in persona.behaviors %} "
        "{{ b.get_behavior_instructions_str() }}{% endfor %}"
    )
    behavior = {
        "name": "n",
        "description": "d",
        "behavior_instructions": ["End with {{ stop_signal }}."],
        "violation_rubrics": [],
    }
    persona = {"id": "p", "description": "a busy person", "behaviors": [behavior]}
    desk.write("set.json", eval_set(scenario(persona=persona)))
    desk.write("eval_config.json", played_by({"model": MODEL, "custom_instructions": template}))
    model_server.always = "</finished>"

    (record,) = run(desk)
    assert record.error is None
    (asked,) = model_server.requests
    assert asked.system == ""
    assert asked.prompt == (
        "Plan: Book one desk, then stop. So far: user: Book me a desk\n\nbot: sure End: </finished> "
        "You: a busy person   * End with </finished>."
    )


@pytest.mark.parametrize("persona", ["EXPERT", "NOVICE", "EVALUATOR"])
def test_pre_built_persona_is_what_the_model_is_told_to_be(
    desk: Project, model_server: ModelServer, persona: str
) -> None:
    desk.write("set.json", eval_set(scenario(persona=persona)))
    model_server.always = "</finished>"

    run(desk)

    (asked,) = model_server.requests
    assert PERSONAS[persona].description in asked.system
    for behavior in PERSONAS[persona].behaviors:
        assert all(
            told.replace("{{ stop_signal }}", "</finished>") in asked.system
            for told in behavior.behavior_instructions
        )
    assert "{{" not in asked.system


# A user who fails


THOUGHTS = said("", thoughts="what would a user say?")


@pytest.mark.parametrize("answers", [(THOUGHTS,), (empty(),), (THOUGHTS, "  \n")])
def test_empty_answer_is_asked_for_again(
    desk: Project, model_server: ModelServer, answers: tuple[Any, ...]
) -> None:
    model_server.answers(*answers, "</finished>")

    (record,) = run(desk)
    assert record.stopped_by == "stop_signal"
    assert record.simulator
    assert record.simulator.requests == len(answers) + 1
    assert len({asked.settings["seed"] for asked in model_server.requests}) == len(answers) + 1


def test_quota_that_recovers_is_waited_for(desk: Project, model_server: ModelServer) -> None:
    desk.write("eval_config.json", played_by({"model": MODEL, "model_configuration": IMPATIENT}))
    model_server.answers(failing(429, retry_after=0.05), "</finished>")

    (record,) = run(desk)
    assert record.error is None


def test_crash_of_the_user_is_tried_again_with_a_new_user(desk: Project, model_server: ModelServer) -> None:
    model_server.answers("more", *[THOUGHTS] * 3, "</finished>")

    (record,) = run(desk, retry_crashed=1)
    assert talk(record) == [("Book me a desk", "sure")]
    (attempt,) = record.failed_attempts
    assert attempt.error.type == "SimulatedUserError"
    assert record.simulator
    assert record.simulator.requests == 5


def test_message_that_was_cut_off_is_asked_for_again_with_more_room(
    desk: Project, model_server: ModelServer
) -> None:
    settings = {"max_output_tokens": 10}
    desk.write("eval_config.json", played_by({"model": MODEL, "model_configuration": settings}))
    model_server.answers(cut_off("Well, I would rather"), "</finished>")

    (record,) = run(desk)
    assert record.error is None
    assert [asked.settings["maxOutputTokens"] for asked in model_server.requests] == [10, 40]
    (record,) = desk.records()
    assert talk(record) == [("Book me a desk", "sure")]


def test_agent_that_crashes_in_a_scenario_is_not_the_users_fault(
    desk: Project, model_server: ModelServer
) -> None:
    desk.agent("def root_agent(message, session):\n    raise LookupError('no desk')\n")

    (record,) = run(desk)

    assert record.error
    assert record.error.type == "LookupError"
    assert record.stopped_by == "error"
    assert model_server.requests == []


# Many runs


def test_runs_differ_and_have_a_pass_rate(desk: Project, model_server: ModelServer) -> None:
    rule = {
        "num_runs": 6,
        "cross_run_scoring_by_metric": {"max_turns_v1": {"method": "pass_rate", "threshold": 0.4}},
    }
    config = {
        "criteria": {"max_turns_v1": 2},
        "user_simulator_config": {"model": MODEL},
        "multi_run_config": rule,
    }
    desk.write("eval_config.json", config)
    desk.write("set.json", eval_set(scenario("a"), scenario("b")))
    ends = {}

    def by_seed(asked: Asked) -> str:
        turns = len(asked.turns) // 2
        wanted = ends.setdefault(asked.settings["seed"], 1 + len(ends) % 4)
        return "</finished>" if turns >= wanted else "more"

    model_server.always = by_seed

    records = run(desk, parallelism=6)

    assert [(one.eval_id, one.run_index) for one in records] == [(c, i) for c in "ab" for i in range(6)]
    assert sorted(len(one.invocations) for one in records) == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]
    assert {one.stopped_by for one in records} == {"stop_signal"}


# Users without a network


def test_callable_plays_the_user(desk: Project) -> None:
    desk.write(
        "player.py",
        """\
        async def say(request):
            assert "Book one desk" in request.system
            return "</finished>" if len(request.contents) > 3 else f"more {request.config['seed'] % 1}"
        """,
    )
    desk.write("eval_config.json", played_by({"model": "python/player:say"}))

    (record,) = run(desk)

    assert talk(record) == [("Book me a desk", "sure"), ("more 0", "sure")]


def test_callable_that_raises_crashes_the_run(desk: Project) -> None:
    desk.write("player.py", "def say(request):\n    raise LookupError('no idea')\n")
    desk.write("eval_config.json", played_by({"model": "python/player:say"}))

    (record,) = run(desk)

    error = record.error
    assert error
    assert error.type == "SimulatedUserError"
    assert error.message == "the simulated user gave no message: python/player:say: LookupError: no idea"


# What is told before anything runs


@pytest.mark.parametrize(
    "metric", ["tool_trajectory_avg_score", "response_match_score", "final_response_match_v2"]
)
def test_metric_that_needs_a_reference_is_refused_with_those_that_fit(
    desk: Project, model_server: ModelServer, metric: str
) -> None:
    desk.write("eval_config.json", {"criteria": {"max_turns_v1": 3, metric: 0.5}})

    told = refusal(desk)

    assert f"eval_config.json: criteria.{metric}: `{metric}` compares with expected turns" in told
    assert "case `desk` is a scenario, which has none" in told
    fitting = told.partition("those that fit are ")[2]
    for name in ("hallucinations_v1", "safety_v1", "multi_turn_task_success_v1", "required_tools_v1"):
        assert name in fitting
    assert "per_turn_user_simulator_quality_v1" in fitting
    assert metric not in fitting
    assert model_server.requests == model_server.preflights == []


def test_default_criteria_do_not_fit_a_scenario(desk: Project) -> None:
    (desk.root / "eval_config.json").unlink()
    desk.write("set.json", eval_set(scenario("a"), scenario("b"), case("c")))

    told = refusal(desk, dry_run=True)

    assert "the default config, as no config was found: criteria.tool_trajectory_avg_score" in told
    assert "case `a` (and 1 more) is a scenario" in told
    assert told.count("those that fit are") == 1


PLACEHOLDERS = "{{ stop_signal }}{{ conversation_plan }}{{ conversation_history }}"
REFUSED = {
    "a user who speaks": (
        {"type": "llm_audio"},
        "user_simulator_config.type: `llm_audio`, a simulated user who speaks, is not supported",
    ),
    "no turns": (
        {"max_allowed_invocations": 0},
        "user_simulator_config.max_allowed_invocations: 0 leaves no turn to play",
    ),
    "unknown model": ({"model": "judge"}, "user_simulator_config.model: no provider is known"),
    "setting without meaning": (
        {"model": "openai/small", "model_configuration": {"response_modalities": ["AUDIO"]}},
        "user_simulator_config.model: `openai/small` cannot follow `response_modalities`",
    ),
    "instructions without placeholders": (
        {"custom_instructions": "Be brief. {{ stop_signal }}"},
        "the instructions lack {{ conversation_plan }}, {{ conversation_history }}",
    ),
    "instructions that cannot be filled in": (
        {"custom_instructions": PLACEHOLDERS + "{{ persona.id }}"},
        "case `desk`: the simulated user's instructions cannot be filled in: UndefinedError",
    ),
    "script without turns": ({"type": "scripted"}, "user_simulator_config"),
}


@pytest.mark.parametrize(("simulator", "told"), REFUSED.values(), ids=REFUSED.keys())
def test_user_who_cannot_be_played_is_refused(
    desk: Project, model_server: ModelServer, simulator: dict[str, Any], told: str
) -> None:
    desk.write("eval_config.json", played_by(simulator))

    assert told in refusal(desk)
    assert model_server.requests == []


def test_persona_needs_a_place_in_instructions_of_ones_own(desk: Project, model_server: ModelServer) -> None:
    desk.write("set.json", eval_set(scenario(persona="EXPERT")))
    desk.write("eval_config.json", played_by({"custom_instructions": PLACEHOLDERS}))

    assert (
        "case `desk`: has a persona, and `custom_instructions` of the config lack {{ persona }}"
        in refusal(desk)
    )


def test_live_models_are_refused(desk: Project) -> None:
    desk.write("eval_config.json", played_by({}, live_model_config={"timeout_seconds": 30}))

    assert "live_model_config: live models (streaming in both directions) are not supported" in refusal(desk)


@pytest.mark.parametrize(
    ("prompt", "told"), [(" ", "is empty"), ("Bye </FINISHED>", "holds the stop signal")]
)
def test_opening_that_cannot_be_said_is_refused(desk: Project, prompt: str, told: str) -> None:
    desk.write("set.json", eval_set(scenario(prompt=prompt)))

    assert "case `desk`: `starting_prompt` " + told in refusal(desk)


def test_unknown_persona_is_refused_with_the_list(desk: Project) -> None:
    desk.write("set.json", eval_set(scenario(persona="expert")))

    assert "unknown persona id `expert`; the pre-built ones are EXPERT, NOVICE, EVALUATOR" in refusal(desk)
