"""Which config, which agent and which eval sets are used when the command line leaves it open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_eval.errors import InputError
from agent_eval.inputs.discovery import find_agent, find_config, selected_eval_sets
from agent_eval.inputs.project import Project as Settings
from agent_eval.inputs.project import ProjectSettings, find_project
from agent_eval.schema.evalset import EvalCase
from tests.cli_support import ECHO, Project, case, eval_set

CONFIGS = (
    "sets/orders.eval_config.json",
    "sets/orders.eval_config.yaml",
    "sets/eval_config.json",
    "sets/eval_config.yaml",
    "eval_config.json",
    "eval_config.yaml",
    "sets/test_config.json",
)
"""Where the config of `sets/orders.evalset.json` is looked for, in order."""


def touch(root: Path, *names: str) -> None:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")


@pytest.mark.parametrize("position", range(len(CONFIGS)), ids=CONFIGS)
def test_config_that_stands_first_in_the_order_is_used(tmp_path: Path, position: int) -> None:
    touch(tmp_path, "sets/orders.evalset.json", "sets/other.eval_config.json", *CONFIGS[position:])

    found = find_config(tmp_path / "sets/orders.evalset.json")

    assert found
    assert Path(found.reference) == tmp_path / CONFIGS[position]


@pytest.mark.parametrize("name", ["orders.evalset.json", "orders.test.json", "orders.json"])
def test_config_is_named_like_the_set_without_its_ending(tmp_path: Path, name: str) -> None:
    touch(tmp_path, name, "orders.eval_config.json")

    found = find_config(tmp_path / name)

    assert found
    assert Path(found.reference) == tmp_path / "orders.eval_config.json"


def test_no_config_means_the_default_one(tmp_path: Path) -> None:
    touch(tmp_path, "sets/orders.evalset.json", "test_config.json", "sets/deeper/eval_config.json")

    assert find_config(tmp_path / "sets/orders.evalset.json") is None


def test_named_config_comes_before_the_one_beside_the_set(project: Project) -> None:
    project.agent()
    project.write("orders.evalset.json", eval_set(case("a")))
    project.write("orders.eval_config.json", {"criteria": {"tool_trajectory_avg_score": 1.0}})
    project.write("strict.yaml", "criteria:\n  response_match_score: 0.9\n")

    done = project.agent_eval("run", "bot", "orders.evalset.json", "--config", "strict.yaml")

    assert done.code == 0
    assert "config strict.yaml (--config)" in done.stderr
    config = project.summary()["config"]
    assert (config["path"], list(config["criteria"])) == ("strict.yaml", ["response_match_score"])


TABLE = '[tool.agent-eval]\nagent = "from_table"\n'


def agents_used(project: Project, *arguments: str, table: str | None = TABLE) -> list[str]:
    """The agents that a dry run of a case with app name `from_case` names."""
    for name in ("named", "from_table", "sample_agents/from_case"):
        project.agent(path=name)
    session = {"app_name": "from_case", "user_id": "u"}
    project.write("set.json", eval_set(case("a", session_input=session)))
    if table is not None:
        project.write("pyproject.toml", table)
    done = project.agent_eval("run", *arguments, "--dry_run", "--json")
    assert done.code == 0, done.stderr
    agents: list[str] = done.document["eval_sets"][0]["agent"]
    return agents


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("named", "set.json"), id="named first"),
        pytest.param(("--agent", "named", "set.json"), id="--agent"),
    ],
)
def test_named_agent_comes_first(project: Project, arguments: tuple[str, ...]) -> None:
    assert agents_used(project, *arguments) == ["named"]


def test_agent_of_the_project_comes_before_the_cases_app(project: Project) -> None:
    assert agents_used(project, "set.json") == ["from_table"]


def test_cases_app_is_looked_for_where_no_agent_is_named(project: Project) -> None:
    assert agents_used(project, "set.json", table=None) == ["sample_agents/from_case"]


def one_case(app_name: str | None) -> EvalCase:
    session = {"app_name": app_name, "user_id": "u"} if app_name else None
    return EvalCase.model_validate({"eval_id": "a", "conversation": [], "session_input": session})


def settings(root: Path, **table: object) -> Settings:
    return Settings(root, ProjectSettings.model_validate(table), None)


PLACES = ("shop/agent.py", "shop.py", "sample_agents/shop/agent.py", "agents/shop/agent.py", "app/shop.py")


@pytest.mark.parametrize("position", range(len(PLACES)), ids=PLACES)
def test_app_is_looked_for_in_the_default_folders_in_order(tmp_path: Path, position: int) -> None:
    touch(tmp_path, *PLACES[position:])

    found = find_agent(one_case("shop"), None, settings(tmp_path))

    assert Path(found.reference) == tmp_path / PLACES[position].removesuffix("/agent.py")


def test_app_is_looked_for_in_the_projects_own_folders_only(tmp_path: Path) -> None:
    touch(tmp_path, "agents/shop/agent.py", "mine/shop/agent.py")

    found = find_agent(one_case("shop"), None, settings(tmp_path, agents=["other", "mine"]))

    assert Path(found.reference) == tmp_path / "mine/shop"


@pytest.mark.parametrize("app_name", ["../shop", "/", "..", "agents/shop", "."])
def test_app_name_is_no_path(tmp_path: Path, app_name: str) -> None:
    touch(tmp_path, "shop/agent.py", "root/agents/shop/agent.py")

    with pytest.raises(InputError, match="no agent"):
        find_agent(one_case(app_name), None, settings(tmp_path / "root"))


def test_unknown_app_resembles_a_known_one(tmp_path: Path) -> None:
    touch(tmp_path, "agents/order_desk/agent.py")

    with pytest.raises(InputError, match=r"no agent `order_dsk` in .*did you mean `order_desk`\?"):
        find_agent(one_case("order_dsk"), None, settings(tmp_path))


def test_case_without_an_app_needs_a_named_agent(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"case `a` names no agent.*agent-eval run AGENT EVALSET"):
        find_agent(one_case(None), None, settings(tmp_path))


@pytest.fixture(scope="module")
def broken_agents(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("broken"))
    project.write("set.json", eval_set(case("a")))
    project.write("empty/readme.txt", "nothing here\n")
    project.agent("def (\n", "broken")
    project.agent("answer = 42\n", "hollow")
    project.agent("root_agent = 42\n", "number")
    return project


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        pytest.param("agents/bto", "there is no agent `agents/bto`", id="no folder"),
        pytest.param("bto.py", "there is no agent `bto.py`", id="no file"),
        pytest.param("empty", "holds neither `__init__.py` nor `agent.py`", id="no agent in it"),
        pytest.param("broken", "SyntaxError", id="does not import"),
        pytest.param("hollow", "`hollow` has no ", id="exposes nothing"),
        pytest.param("number", "its agent is int, which cannot be called", id="cannot be called"),
    ],
)
def test_agent_that_cannot_be_used_is_an_error(broken_agents: Project, agent: str, message: str) -> None:
    done = broken_agents.agent_eval("run", agent, "set.json")

    assert done.code == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


SETS = (
    "evalsets/orders.evalset.json",
    "evalsets/deep/refunds.evalset.json",
    "tests/eval/evalsets/legacy.test.json",
)


def test_all_takes_every_set_of_the_default_folders(project: Project) -> None:
    project.agent()
    for name in SETS:
        project.write(name, eval_set(case("a")))
    project.write("evalsets/notes.json", "no eval set")
    project.write("elsewhere/other.evalset.json", "not looked at")

    done = project.agent_eval("run", "--agent", "bot", "--all", "--dry_run", "--json")

    assert done.code == 0
    assert sorted(one["path"] for one in done.document["eval_sets"]) == sorted(SETS)


def test_project_says_where_its_sets_and_agents_are_from_any_folder_below(project: Project) -> None:
    project.agent(path="bots/shop")
    session = {"app_name": "shop", "user_id": "u"}
    project.write("mine/own.evalset.json", eval_set(case("a", session_input=session), eval_set_id="own"))
    project.write("evalsets/other.evalset.json", "not looked at")
    project.write("pyproject.toml", '[tool.agent-eval]\nevalsets = "mine"\nagents = ["bots"]\n')
    (project.root / "some/where").mkdir(parents=True)

    done = project.agent_eval("run", "--all", "--quiet", cwd="some/where")

    assert done.code == 0
    (result,) = (project.root / "some/where/.agent_eval/results/own").glob("*.json")
    assert json.loads(result.read_bytes())["eval_set"]["path"] == "../../mine/own.evalset.json"


def test_all_without_a_folder_says_where_it_looked(project: Project) -> None:
    done = project.agent_eval("run", "--all")

    assert done.code == 2
    assert "looked for evalsets, tests/eval/evalsets" in done.stderr


@pytest.mark.parametrize(
    ("table", "message"),
    [
        pytest.param('agnets = ["a"]', r"unknown key `agnets` \(did you mean `agents`\?\)", id="key"),
        pytest.param("agent = 3", r"agent: expected text, got 3", id="value"),
        pytest.param("agent = [", r"pyproject.toml: not TOML", id="syntax"),
    ],
)
def test_settings_that_cannot_be_read_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, message: str
) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.agent-eval]\n{table}\n")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(InputError, match=message):
        find_project()


def test_misspelled_setting_ends_the_command(project: Project) -> None:
    project.write("bot.py", ECHO)
    project.write("set.json", eval_set(case("a")))
    project.write("pyproject.toml", '[tool.agent-eval]\nagnets = ["a"]\n')

    done = project.agent_eval("run", "bot.py", "set.json")

    assert done.code == 2
    assert "[tool.agent-eval]: agnets: unknown key `agnets` (did you mean `agents`?)" in done.stderr


def test_nearest_file_with_settings_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "lib/src/nothing.txt")
    (tmp_path / "pyproject.toml").write_text('[tool.agent-eval]\nagent = "outer"\n')
    (tmp_path / "lib/pyproject.toml").write_text('[project]\nname = "lib"\n')
    monkeypatch.chdir(tmp_path / "lib/src")

    found = find_project()

    assert found.settings.agent == "outer"
    assert found.root == Path("../..")


def test_set_named_twice_is_taken_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "a.json", "b.json")
    monkeypatch.chdir(tmp_path)

    def selected(*arguments: str) -> list[tuple[str, tuple[str, ...]]]:
        found = selected_eval_sets(arguments, None, settings(tmp_path), every=False)
        return [(selector.file, selector.case_ids) for selector in found]

    assert selected("a.json:x", "b.json", "./a.json:y,x") == [("a.json", ("x", "y")), ("b.json", ())]
    assert selected("a.json:x", "a.json") == [("a.json", ())]
    assert selected("a.json", "a.json:x") == [("a.json", ())]


def test_no_set_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no eval set is named"):
        selected_eval_sets((), "bot", settings(tmp_path), every=False)
