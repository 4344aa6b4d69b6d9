"""`agent-eval scenario`: scenarios of a file and of a model become cases, and nothing else is touched."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

import pytest

from agent_eval.errors import InputError
from agent_eval.inputs.evalsets import load_eval_set
from agent_eval.scenarios import Written, add_scenarios, generate_scenarios, session_of
from agent_eval.simulation.generation import Wish
from tests.cli_support import Outcome, Project, case, eval_set
from tests.model_server import KEY, Asked, ModelServer, failing, said
from tests.simulation.support import MODEL

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_imports")]

DESK = {"starting_prompt": "A desk?", "conversation_plan": "Get a desk by the window."}
CHAIR = {"starting_prompt": "A chair?", "conversation_plan": "Get a chair.", "user_persona": "NOVICE"}
SESSION = {"app_name": "bot", "user_id": "u7", "state": {"floor": 2}}


@pytest.fixture
def desk(project: Project) -> Project:
    project.write("scenarios.json", {"scenarios": [DESK, CHAIR]})
    project.write("session.json", SESSION)
    return project


def add(project: Project, *targets: str, **options: str) -> Outcome:
    given = {"scenarios_file": "scenarios.json", "session_input_file": "session.json"} | options
    flags = [word for name, value in given.items() for word in (f"--{name}", value)]
    return project.agent_eval("scenario", "add", *targets, *flags)


def cases(project: Project, name: str = "set.evalset.json") -> list[dict[str, Any]]:
    document = json.loads((project.root / name).read_text())
    return [{k: v for k, v in one.items() if k != "creation_timestamp"} for one in document["eval_cases"]]


def adk_id(scenario: dict[str, Any]) -> str:
    """As `adk eval_set add_eval_case` makes it."""
    text = json.dumps({"user_persona": None, **scenario}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


# add


def test_scenarios_become_cases_of_a_new_eval_set(desk: Project) -> None:
    done = add(desk, "set.evalset.json")

    assert done.code == 0, done.stderr
    first, second = cases(desk)
    assert first == {"eval_id": adk_id(DESK), "conversation_scenario": DESK, "session_input": SESSION}
    assert second["conversation_scenario"] == CHAIR
    loaded = load_eval_set(desk.root / "set.evalset.json").eval_set
    assert loaded.eval_set_id == "set"
    assert loaded.eval_cases[0].creation_timestamp > 1e9
    assert f"{adk_id(DESK)}  A desk?" in done.stdout


def test_cases_that_are_there_stay_as_they_are(desk: Project) -> None:
    add(desk, "set.evalset.json")
    desk.write("scenarios.json", {"scenarios": [DESK, {**DESK, "starting_prompt": "Two desks?"}]})
    desk.write("session.json", {**SESSION, "user_id": "somebody else"})

    done = add(desk, "set.evalset.json")

    assert done.code == 0
    known, chair, new = cases(desk)
    assert known["session_input"] == SESSION
    assert new["session_input"]["user_id"] == "somebody else"
    assert f"{adk_id(DESK)}  was there already" in done.stdout

    again = add(desk, "set.evalset.json")

    assert "0 cases added" in again.stdout
    assert cases(desk) == [known, chair, new]


def test_what_else_is_in_the_file_is_kept(desk: Project) -> None:
    odd = {
        "$schema": "x",
        "evalSetId": "mine",
        "name": "Çafé",
        "evalCases": [case("a", "hi", owner={"big": 2**70, "half": 0.5})],
    }
    desk.write("set.json", odd)

    assert add(desk, "set.json").code == 0

    document = json.loads((desk.root / "set.json").read_text())
    assert document["evalCases"][0] == odd["evalCases"][0]
    assert {key: document[key] for key in ("$schema", "evalSetId", "name")} == {
        key: odd[key] for key in ("$schema", "evalSetId", "name")
    }
    assert len(document["evalCases"]) == 3


def test_bare_list_of_cases_is_added_to(desk: Project) -> None:
    desk.write("set.json", [case("a", "hi")])

    assert add(desk, "set.json").code == 0
    assert len(json.loads((desk.root / "set.json").read_text())) == 3


def test_agent_and_id_name_a_set_in_the_agents_folder(desk: Project) -> None:
    desk.agent()

    assert add(desk, "bot", "orders").code == 0
    assert len(cases(desk, "bot/orders.evalset.json")) == 2
    done = desk.agent_eval("scenario", "add", "bot", "chairs", "--scenarios_file", "scenarios.json")
    assert done.code == 0
    assert cases(desk, "bot/chairs.evalset.json")[0]["session_input"] == {
        "app_name": "bot",
        "user_id": "test_user_id",
    }


def test_case_without_a_session_has_none(desk: Project) -> None:
    done = desk.agent_eval("scenario", "add", "set.evalset.json", "--scenarios_file", "scenarios.json")

    assert done.code == 0
    assert "session_input" not in cases(desk)[0]


def test_json_document_tells_the_ids(desk: Project) -> None:
    flags = ("--scenarios_file", "scenarios.json", "--json")
    first = desk.agent_eval("eval", "scenario", "add", "set.evalset.json", *flags).document
    second = desk.agent_eval("scenario", "add", "set.evalset.json", *flags).document

    assert first == {
        "path": "set.evalset.json",
        "added": [one["eval_id"] for one in cases(desk)],
        "known": [],
    }
    assert second == {"path": "set.evalset.json", "added": [], "known": first["added"]}


REFUSED: dict[str, tuple[str, Any, str]] = {
    "no file": ("scenarios.json", None, "scenarios.json: no such file"),
    "other form": ("scenarios.json", [DESK], "scenarios.json:1: expected an object"),
    "no scenarios": ("scenarios.json", {"scenarios": []}, "scenarios: holds no scenarios"),
    "misspelled key": (
        "scenarios.json",
        {"scenarios": [{**DESK, "persona": "NOVICE"}]},
        "scenarios[0].persona: unknown key `persona`",
    ),
    "unknown persona": (
        "scenarios.json",
        {"scenarios": [{**DESK, "user_persona": "novice"}]},
        "unknown persona id `novice`; the pre-built ones are EXPERT, NOVICE, EVALUATOR",
    ),
    "opening that ends it": (
        "scenarios.json",
        {"scenarios": [CHAIR, {**DESK, "starting_prompt": "</finished>"}]},
        "scenarios[1]: `starting_prompt` holds the stop signal",
    ),
    "session without a user": ("session.json", {"app_name": "bot"}, "session.json:1: user_id: required"),
    "old form of eval set": (
        "set.evalset.json",
        [{"name": "a", "data": []}],
        "cases cannot be added to this form of an eval set",
    ),
    "no eval set": ("set.evalset.json", {"criteria": {}}, "set.evalset.json:1: eval_set_id: required"),
}


@pytest.mark.parametrize(("file", "content", "told"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_added_is_told_and_nothing_is_written(
    desk: Project, file: str, content: Any, told: str
) -> None:
    desk.write("set.evalset.json", eval_set(case("a")))
    (desk.root / file).unlink()
    if content is not None:
        desk.write(file, content)
    before = {path: path.read_bytes() for path in desk.root.iterdir()}

    with pytest.raises(InputError) as refused:
        add_scenarios(
            desk.root / "set.evalset.json",
            desk.root / "scenarios.json",
            session_of(str(desk.root / "session.json"), None),
        )

    assert told in str(refused.value)
    assert {path: path.read_bytes() for path in desk.root.iterdir()} == before


@pytest.mark.parametrize(
    ("targets", "told"),
    [
        (("orders",), "`orders` is no eval set"),
        (("nobody", "orders"), "`orders` is no eval set"),
        (("nowhere/set.json",), "there is no folder `nowhere`"),
        (("a", "b", "c"), "too many arguments"),
    ],
)
def test_place_that_is_none_is_refused(desk: Project, targets: tuple[str, ...], told: str) -> None:
    done = add(desk, *targets)

    assert done.code == 2
    assert told in done.stderr


# generate

PLANNER = '''\
def find_flights(city: str) -> list:
    """Flights to a city."""


class Planner:
    name = "planner"
    instruction = "Plan trips within the budget."
    tools = (find_flights,)

    def __call__(self, message, session):
        return "sure"


root_agent = Planner()
'''


@pytest.fixture
def planner(project: Project) -> Project:
    project.agent(PLANNER, "planner")
    return project


def generate(project: Project, *options: str, count: int = 2) -> Outcome:
    target = ("planner", "set.evalset.json", "--count", str(count))
    return project.agent_eval("scenario", "generate", *target, *options)


def generated(project: Project) -> Written:
    """The same in this process."""
    folder = project.root
    eval_set = folder / "set.evalset.json"
    return asyncio.run(generate_scenarios(str(folder / "planner"), eval_set, MODEL, Wish(2), None))


def written(*scenarios: dict[str, Any]) -> dict[str, Any]:
    return {"scenarios": [{"user_persona": "NONE", **scenario} for scenario in scenarios]}


def test_model_writes_scenarios_from_what_the_agent_shows(
    planner: Project, model_server: ModelServer
) -> None:
    model_server.always = written(DESK, CHAIR)

    done = generate(planner, "--instruction", "Refunds", "--environment_context", "There are two desks.")

    assert done.code == 0, done.stderr
    (asked,) = model_server.requests
    assert "Plan trips within the budget." in asked.prompt
    assert "find_flights" in asked.prompt
    assert "Flights to a city." in asked.prompt
    assert "Refunds" in asked.prompt
    assert "There are two desks." in asked.prompt
    assert "Write 2 scenarios" in asked.prompt
    assert "EXPERT" in asked.system
    first, second = cases(planner)
    assert first == {
        "eval_id": adk_id(DESK),
        "conversation_scenario": DESK,
        "session_input": {"app_name": "planner", "user_id": "test_user_id"},
    }
    assert second["conversation_scenario"] == CHAIR


def test_what_was_written_can_be_run(planner: Project, model_server: ModelServer) -> None:
    model_server.answers(written(DESK, CHAIR))
    model_server.always = "</finished>"
    planner.write("eval_config.json", {"criteria": {"max_turns_v1": 2}})

    generate(planner)
    done = planner.agent_eval("run", "set.evalset.json")

    assert done.code == 0, done.stdout + done.stderr


def test_scenarios_of_before_are_kept(planner: Project, model_server: ModelServer) -> None:
    planner.write("set.evalset.json", eval_set(case("a", "hi")))
    model_server.answers(written(DESK), written(DESK), written(CHAIR))

    for _ in range(3):
        assert generate(planner, count=1).code == 0

    assert [one["eval_id"] for one in cases(planner)][:2] == ["a", adk_id(DESK)]
    assert len(cases(planner)) == 3


UNUSABLE = {
    "no JSON": "I would rather not.",
    "too few": written(DESK),
    "a key missing": {"scenarios": [DESK, {"starting_prompt": "Hi"}]},
    "unknown persona": written(DESK, {**CHAIR, "user_persona": "KING"}),
    "empty plan": written(DESK, {**CHAIR, "conversation_plan": " "}),
    "opening that ends it": written(DESK, {**CHAIR, "starting_prompt": "bye </finished>"}),
    "another key": written(DESK, {**CHAIR, "eval_id": "a"}),
}


@pytest.mark.parametrize("answer", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_answer_that_cannot_be_used_is_asked_for_once_more(
    planner: Project, model_server: ModelServer, answer: Any
) -> None:
    model_server.answers(answer, written(DESK, CHAIR))

    assert len(generated(planner).added) == 2
    assert "cannot be used" in model_server.requests[1].prompt


@pytest.mark.parametrize("answer", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_nothing_is_written_that_cannot_be_used(
    planner: Project, model_server: ModelServer, answer: Any
) -> None:
    planner.write("set.evalset.json", eval_set(case("a", "hi")))
    before = (planner.root / "set.evalset.json").read_bytes()
    model_server.always = answer

    with pytest.raises(InputError, match=r"no scenarios were written: the answer of .+ cannot be used"):
        generated(planner)

    assert (planner.root / "set.evalset.json").read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        f"Here they are:\n```json\n{json.dumps(written(DESK, CHAIR))}\n```",
        json.dumps([DESK, CHAIR]),
    ],
    ids=["fenced", "bare list"],
)
def test_answers_in_other_forms_are_read(planner: Project, model_server: ModelServer, text: str) -> None:
    model_server.always = said(text)

    assert len(generated(planner).added) == 2


def test_more_than_wanted_is_cut(planner: Project, model_server: ModelServer) -> None:
    model_server.always = written(DESK, CHAIR)

    assert generate(planner, count=1).code == 0
    assert len(cases(planner)) == 1


def test_openai_compatible_model_writes_them(planner: Project, model_server: ModelServer) -> None:
    model_server.always = written(DESK, CHAIR)

    assert generate(planner, "--model", "openai/small").code == 0
    (asked,) = model_server.requests
    assert asked.api == "openai"
    assert asked.settings["response_format"]["json_schema"]["strict"] is True


FAILURES: dict[str, tuple[Any, str]] = {
    "no key": (failing(401, f"bad key {KEY}"), "no access to gemini-2.5-flash"),
    "no quota": (failing(404, "gone"), "there is no gemini-2.5-flash"),
}


@pytest.mark.parametrize(("answer", "told"), FAILURES.values(), ids=FAILURES.keys())
def test_model_that_cannot_be_used_is_told(
    planner: Project, model_server: ModelServer, answer: Any, told: str
) -> None:
    model_server.preflight = answer

    done = generate(planner)

    assert done.code == 2
    assert told in done.stderr
    assert KEY not in done.stderr
    assert not (planner.root / "set.evalset.json").exists()


def test_damaged_eval_set_is_told_before_the_model_is_asked(
    planner: Project, model_server: ModelServer
) -> None:
    planner.write("set.evalset.json", {"eval_set_id": "x", "eval_cases": [{}]})

    assert generate(planner).code == 2
    assert model_server.requests == model_server.preflights == []


def test_agent_that_shows_nothing_needs_a_word(planner: Project, model_server: ModelServer) -> None:
    planner.agent(path="planner")
    model_server.always = written(DESK, CHAIR)

    done = generate(planner)

    assert done.code == 2
    assert "`planner` shows neither instructions nor tools" in done.stderr
    assert generate(planner, "--instruction", "It rents desks.").code == 0


def test_agent_of_a_factory_is_described(planner: Project, model_server: ModelServer) -> None:
    factory = PLANNER.replace("root_agent = Planner()", "async def get_agent_async():\n    return Planner()")
    planner.agent(factory, "planner")

    def answer(asked: Asked) -> Any:
        assert "Plan trips within the budget." in asked.prompt
        return written(DESK, CHAIR)

    model_server.always = answer

    assert generate(planner).code == 0


def test_factory_that_fails_is_told(planner: Project, model_server: ModelServer) -> None:
    planner.agent("def get_agent_async():\n    raise LookupError('no database')\n", "planner")

    done = generate(planner)

    assert done.code == 2
    assert "`planner` cannot tell its instructions and tools: LookupError: no database" in done.stderr
