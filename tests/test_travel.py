"""What goes to the nodes of a cluster, and what is refused before anything goes."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agent_eval.errors import InputError
from agent_eval.options import JudgeOptions, Options, Place, parse_place
from agent_eval.preparation import plan_evaluation, prepared
from agent_eval.selection import select
from agent_eval.travel import arrived, packed, portable, sent
from tests.cli_support import RESPONSES, Project, case, custom, eval_set

pytestmark = pytest.mark.usefixtures("own_imports")

ON_RAY = Options(agent="bot", eval_sets=("sets/a.json",), executor=Place.RAY)


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    project.agent()
    project.write("eval_config.json", RESPONSES)
    project.write("sets/a.json", eval_set(case("one")))
    monkeypatch.chdir(project.root)
    return project


def test_absolute_paths_into_the_project_hold_wherever_it_is(
    here: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.write("sets/gates.py", "def kind(*_):\n    return None\n")
    here.write("sets/strict.json", custom("kind"))
    options = replace(
        ON_RAY,
        agent=str(here.root / "bot"),
        eval_sets=(str(here.root / "sets/a.json"),),
        config=str(here.root / "sets/strict.json"),
    )
    selection = portable(select(options))
    data = pickle.dumps(sent(selection))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("bot", "sets"):
        (here.root / name).rename(elsewhere / name)
    monkeypatch.chdir(elsewhere)
    evaluation = prepared(arrived(pickle.loads(data)))
    assert list(evaluation.agents) == ["bot"]
    assert evaluation.sets[0].cases[0].agent == "bot"
    assert evaluation.sets[0].metrics[0].name == "kind"


def test_a_folder_below_the_project_travels_with_all_of_it(
    here: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.write("pyproject.toml", f'[tool.agent-eval]\nagent = "{here.root}/bot"\n')
    monkeypatch.chdir(here.root / "sets")
    selection = portable(select(replace(ON_RAY, agent=None, eval_sets=("a.json",))))
    luggage = packed(selection, ["../bot"])
    assert (luggage.root, luggage.here) == (here.root.resolve(), "sets")
    assert selection.project.settings.agent == "../bot"


def test_variables_are_those_that_files_name_with_the_values_that_hold(
    here: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.write("bot/.env", "OF_AGENT=agent\nOF_BOTH=file\n")
    here.write("keys/variables", "OF_FILE=file\n")
    monkeypatch.setenv("OF_BOTH", "shell")
    monkeypatch.setenv("OF_SHELL", "shell")
    selection = select(replace(ON_RAY, env_file="keys/variables", output="kept/results"))
    luggage = packed(selection, prepared(selection).agents)
    assert luggage.variables == {"OF_FILE": "file", "OF_AGENT": "agent", "OF_BOTH": "shell"}
    assert luggage.excluded == ("/kept/results", "/keys/variables")


def test_an_agent_that_would_not_be_there_is_refused(here: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here.root / "sets")
    with pytest.raises(InputError, match="is not in the folder that is sent to the nodes"):
        plan_evaluation(replace(ON_RAY, agent="../bot", eval_sets=("a.json",)))
    monkeypatch.chdir(here.root / "bot")
    with pytest.raises(InputError, match="start one folder above"):
        plan_evaluation(replace(ON_RAY, agent=".", eval_sets=("../sets/a.json",)))


def test_a_home_folder_is_not_sent(here: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(here.root))
    with pytest.raises(InputError, match="start in your project's folder"):
        plan_evaluation(ON_RAY)


def test_without_ray_it_is_said_what_to_install(here: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"needs Ray.*pip install 'ray"):
        plan_evaluation(ON_RAY)
    assert plan_evaluation(replace(ON_RAY, dry_run=True)).runs == 1


REFUSED: dict[str, tuple[Options, str]] = {
    "calls that no node can count": (
        replace(ON_RAY, judges=JudgeOptions(max_calls=3)),
        "--max_judge_calls cannot be kept to",
    ),
    "limits": (replace(ON_RAY, rpm=3, tpm=5), "--rpm, --tpm cannot be kept to"),
    "as many as endpoints bear": (replace(ON_RAY, parallelism="auto"), "--parallelism takes a number"),
    "an address for nothing": (
        replace(ON_RAY, executor=Place.LOCAL, ray_address="auto"),
        "--ray_address is for --executor ray",
    ),
    "an empty address": (replace(ON_RAY, ray_address=" "), "--ray_address is empty"),
}


@pytest.mark.parametrize(("options", "told"), REFUSED.values(), ids=REFUSED.keys())
def test_what_does_not_go_together_is_refused(here: Project, options: Options, told: str) -> None:
    with pytest.raises(InputError, match=told):
        plan_evaluation(options)


def test_where_runs_can_be_made() -> None:
    assert parse_place("ray") is Place.RAY
    with pytest.raises(InputError, match="takes local or ray; not 'mars'"):
        parse_place("mars")
