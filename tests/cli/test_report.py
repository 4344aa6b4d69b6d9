"""`agent-eval report` and `run --adk_results` as processes: stored results look as when they were made."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from agent_eval.store.journal import SUFFIX
from tests.cli_support import ECHO, RESPONSES, Outcome, Project, case, custom, eval_set

DATA = Path(__file__).parents[1] / "data" / "adk_results"

AGENT = """\
    import time
    from pathlib import Path


    def look_up(order_id):
        return {"found": True}


    async def root_agent(message, session):
        if message.text == "crash":
            raise RuntimeError("socket reset")
        if message.text == "sleep":
            Path("asleep").touch()
            time.sleep(60)
        if message.text == "flaky" and session.run_index == 1:
            return "no"
        if message.text == "look up":
            await session.call_tool(look_up, order_id="A1")
        return message.text
    """

GATES = """\
    from agent_eval import EvalStatus, EvaluationResult


    def gate(metric, actual, expected, scenario):
        if actual[0].user_content.text == "unjudged":
            raise RuntimeError("quota exceeded")
        return EvaluationResult(overall_score=1.0, overall_eval_status=EvalStatus.PASSED)
    """

CASES = [
    case("passes", "look up"),
    case("wrong_answer", "hello there", answer="goodbye"),
    case("crashes", "crash"),
    case("unjudged", "unjudged"),
    case("flaky", "flaky"),
]
CONFIG = custom("gate", response_match_score=0.8) | {
    "multi_run_config": {
        "num_runs": 3,
        "cross_run_scoring_by_metric": {"response_match_score": {"method": "pass_rate", "threshold": 0.6}},
    }
}


class Evaluated(Project):
    """A project in which every case was run."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.agent(AGENT)
        self.write("gates.py", GATES)
        self.write("set.json", eval_set(*CASES))
        self.write("set.eval_config.json", CONFIG)
        self.run = self.agent_eval("run", "bot", "set.json", "--adk_results")
        (self.adk_result,) = (root / "bot/.adk/eval_history").glob("*.evalset_result.json")


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    return Evaluated(tmp_path_factory.mktemp("evaluated"))


def tables(outcome: Outcome) -> list[str]:
    """What was printed without what files and times there are."""
    lines = re.sub(r"  \(\d.*\)$|\d+ ms$", "", outcome.stdout, flags=re.MULTILINE).splitlines()
    return [line.rstrip() for line in lines if not re.match(r"(ADK r|R)esult: ", line)]


def verdicts(outcome: Outcome) -> dict[str, object]:
    """Of each case, all that decides and explains it."""
    kept = (
        "verdict",
        "flaky",
        "attempts",
        "scored",
        "passed",
        "crashed",
        "pass_rate",
        "interval",
        "pass_hat_k",
    )
    return {
        case["eval_id"]: {
            **{key: case.get(key) for key in kept},
            "metrics": [
                (metric["metric_name"], metric["score"], metric["status"], metric["per_run"])
                for metric in case["metrics"]
            ],
        }
        for case in outcome.document["cases"]
    }


# report


def test_summary_is_shown_as_the_run_showed_it(evaluated: Evaluated) -> None:
    done = evaluated.agent_eval("report", str(evaluated.results()[0]))

    assert evaluated.run.code == 1
    assert done.code == 0
    assert tables(done) == tables(evaluated.run)
    assert done.stderr == ""


def test_details_show_every_turn_of_every_run(evaluated: Evaluated) -> None:
    done = evaluated.agent_eval("report", str(evaluated.results()[0]), "--print_detailed_results")

    assert done.stdout.count("1. user: look up") == 3
    assert 'call: look_up(order_id="A1")' in done.stdout
    assert 'raise RuntimeError("socket reset")' in done.stdout


def test_json_has_the_keys_that_run_prints(evaluated: Evaluated) -> None:
    summary = str(evaluated.results()[0])
    run = evaluated.agent_eval("run", "bot", "set.json", "--json", "--output", "other").document

    done = evaluated.agent_eval("report", summary, "--json")

    document = done.document
    assert document.keys() == run.keys()
    assert document["exit_code"] == done.code == 0
    assert document["totals"] == run["totals"]
    assert document["results"][0].keys() == run["results"][0].keys()
    assert document["results"][0]["files"] == {
        "summary": summary,
        "journal": summary.removesuffix(".json") + SUFFIX,
    }
    assert "wrong_answer" in done.stderr


def test_report_goes_by_its_name_under_eval_too(evaluated: Evaluated) -> None:
    done = evaluated.agent_eval("eval", "report", str(evaluated.results()[0]))

    assert tables(done) == tables(evaluated.run)


def test_summary_without_its_journal_is_shown_without_turns(evaluated: Evaluated, tmp_path: Path) -> None:
    alone = shutil.copy(evaluated.results()[0], tmp_path)

    done = evaluated.agent_eval("report", str(alone))

    assert done.code == 0
    assert "wrong_answer" in done.stdout
    assert "its journal is not beside it" in done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "r.json: no such file", id="not there"),
        pytest.param("{", "r.json:1: not JSON", id="no JSON"),
        pytest.param("{}", "r.json: is not a result of agent-eval", id="something else"),
        pytest.param(
            '{"evalCaseResults": []}', "r.json:1: evalSetId: is not a result of ADK", id="half of ADK"
        ),
        pytest.param(
            '{"evalSetId": "s", "evalCaseResults": [{"evalId": "a", "finalEvalStatus": "passed"}]}',
            'r.json:1: evalCaseResults[0].finalEvalStatus: is not a result of ADK: "passed" is no status',
            id="dialect",
        ),
    ],
)
def test_what_is_no_result_is_an_input_error(project: Project, content: str | None, message: str) -> None:
    if content is not None:
        project.write("r.json", content)

    done = project.agent_eval("report", "r.json")

    assert done.code == 2
    assert message in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_killed_evaluation_is_shown_as_far_as_it_came(project: Project) -> None:
    project.agent(AGENT)
    project.write("set.json", eval_set(case("first"), case("second", "sleep")))
    project.write("config.json", RESPONSES)
    process = subprocess.Popen(
        project.command("run", "bot", "set.json", "--config", "config.json", "--parallelism", "1"),
        cwd=project.root,
        env=project.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not (project.root / "asleep").exists():
            with pytest.raises(subprocess.TimeoutExpired):  # it must not end by itself
                process.wait(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    (journal,) = project.root.glob(f".agent_eval/results/*/*{SUFFIX}")

    done = project.agent_eval("report", str(journal))

    assert done.code == 0
    assert re.search(r"^first +PASSED", done.stdout, re.MULTILINE)
    assert "broken off" in done.stdout
    assert "second" not in done.stdout


# Results of ADK


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("one_failing", ["extra_tool  FAILED", "check_stock", "agent shop_agent"]),
        ("one_raising", ["raising_tool  FAILED", "the run crashed"]),
        ("double_encoded", ["question_only  FAILED", "no_reference"]),
    ],
)
def test_result_of_adk_is_shown(project: Project, name: str, shown: list[str]) -> None:
    done = project.agent_eval("report", str(DATA / f"{name}.evalset_result.json"))

    assert done.code == 0
    assert done.stderr == ""
    assert all(text in done.stdout for text in shown)


def test_results_of_adk_are_compared(project: Project) -> None:
    text = (DATA / "one_failing.evalset_result.json").read_text()
    project.write("after.json", text)
    project.write("before.json", text.replace('"eval_status": 2', '"eval_status": 1'))

    done = project.agent_eval("compare", "before.json", "after.json", "--json")

    assert done.code == 1
    (changed,) = done.document["cases"]
    assert (changed["eval_id"], changed["change"]) == ("extra_tool", "regressed")
    assert done.document["comparisons"][0]["goalposts"] == []


# --adk_results


def test_adk_result_gives_the_same_verdicts(evaluated: Evaluated) -> None:
    ours = evaluated.agent_eval("report", str(evaluated.results()[0]), "--json")

    adks = evaluated.agent_eval("report", str(evaluated.adk_result), "--json")

    assert {"PASSED", "FAILED", "NOT_EVALUATED"} == {case["verdict"] for case in adks.document["cases"]}
    assert verdicts(adks) == verdicts(ours)
    assert adks.document["totals"] == ours.document["totals"]
    assert adks.document["results"][0]["files"] == {"adk_results": [str(evaluated.adk_result)]}


def test_adk_result_is_the_same_result_to_compare(evaluated: Evaluated) -> None:
    done = evaluated.agent_eval("compare", str(evaluated.results()[0]), str(evaluated.adk_result), "--json")

    assert done.code == 0
    assert done.document["counts"]["unchanged"] == len(CASES)
    assert done.document["comparisons"][0]["goalposts"] == []


def test_run_says_where_the_adk_result_is(evaluated: Evaluated) -> None:
    place = evaluated.adk_result.relative_to(evaluated.root)

    assert f"\nADK result: {place}\n" in evaluated.run.stdout
    assert place.name.startswith("bot_demo_")


def test_json_names_the_adk_result(project: Project) -> None:
    project.agent()
    project.write("set.json", eval_set(case("a")))
    project.write("config.json", RESPONSES)

    done = project.agent_eval("run", "bot", "set.json", "--config", "config.json", "--adk-results", "--json")

    (place,) = done.document["results"][0]["files"]["adk_results"]
    assert json.loads((project.root / place).read_bytes())["eval_set_id"] == "demo"


def test_each_agent_of_an_eval_set_gets_its_cases(project: Project) -> None:
    project.agent(path="agents/one")
    project.write("agents/two.py", ECHO)
    cases = [
        case(f"{name}_case", session_input={"app_name": name, "user_id": "u"}) for name in ("one", "two")
    ]
    project.write("set.json", eval_set(*cases))
    project.write("config.json", RESPONSES)

    done = project.agent_eval("run", "set.json", "--config", "config.json", "--adk_results")

    assert done.code == 0, done.stderr
    for folder, name in (("agents/one", "one"), ("agents", "two")):
        (file,) = (project.root / folder / ".adk/eval_history").iterdir()
        assert file.name.startswith(f"{name}_demo_")
        written = json.loads(file.read_bytes())["eval_case_results"]
        assert [result["eval_id"] for result in written] == [f"{name}_case"]


@pytest.mark.parametrize(
    "agent",
    [
        pytest.param(["bot.agent:root_agent"], id="a reference to code"),
        pytest.param(["--url", "http://127.0.0.1:9"], id="a server"),
    ],
)
def test_agent_without_a_folder_is_an_error_before_anything_runs(project: Project, agent: list[str]) -> None:
    project.agent()
    project.write("set.json", eval_set(case("a")))

    done = project.agent_eval("run", *agent, "set.json", "--adk_results", PYTHONPATH=str(project.root))

    assert done.code == 2
    assert "--adk_results needs an agent that is a folder or a file" in done.stderr
    assert not (project.root / ".agent_eval").exists()


def test_dry_run_writes_nothing(project: Project) -> None:
    project.agent()
    project.write("set.json", eval_set(case("a")))

    assert project.agent_eval("run", "bot", "set.json", "--adk_results", "--dry_run").code == 0
    assert not (project.root / "bot/.adk").exists()


def test_folder_that_cannot_be_written_is_told_before_anything_runs(project: Project) -> None:
    project.agent()
    project.write("bot/.adk", "a file where the folder has to be")
    project.write("set.json", eval_set(case("a")))

    done = project.agent_eval("run", "bot", "set.json", "--adk_results")

    assert done.code == 2
    assert ".adk" in done.stderr
    assert not (project.root / ".agent_eval").exists()
