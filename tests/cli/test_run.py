"""`agent-eval run` as a process: what it prints where, and how it ends."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agent_eval.cli.output import Output
from tests.cli_support import ECHO, RESPONSES, Outcome, Project, case, custom, eval_set

AGENT = """\
    import asyncio
    from pathlib import Path


    def look_up(**args):
        return {"found": True}


    async def root_agent(message, session):
        Path("asked").touch()
        text = message.text
        if text == "crash":
            raise RuntimeError("socket reset")
        if text == "look up":
            await session.call_tool(look_up, order_id="A1", region="north")
        if text == "paint":
            text = "\\x1b[31mred\\u202e reversed\\r\\x9b2J"
        if text == "sleep":
            Path("asleep").touch()
            await asyncio.sleep(60)
        return text
    """

GATES = """\
    from agent_eval import EvalStatus, EvaluationResult


    def gate(metric, actual, expected, scenario):
        if actual[0].user_content.text == "unjudged":
            raise RuntimeError("quota exceeded")
        return EvaluationResult(overall_score=1.0, overall_eval_status=EvalStatus.PASSED)
    """

LOOK_UP = case("wrong_call", "look up")
LOOK_UP["conversation"][0]["intermediate_data"] = {
    "tool_uses": [{"name": "look_up", "args": {"order_id": "A1", "region": "south"}}]
}
CASES = [
    case("passes", "hello"),
    case("wrong_answer", "hello there", answer="goodbye for now"),
    LOOK_UP,
    case("crashes", "crash"),
    case("unjudged", "unjudged"),
    case("paints", "paint", answer="blue"),
]
CONFIG = custom("gate", tool_trajectory_avg_score=1.0, response_match_score=0.8)


def set_up(project: Project) -> Project:
    project.agent(AGENT)
    project.write("gates.py", GATES)
    project.write("set.json", eval_set(*CASES))
    project.write("set.eval_config.json", CONFIG)
    return project


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with a case for each way in which a case can end."""
    return set_up(Project(tmp_path_factory.mktemp("shop")))


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The same, in which every case is run once."""
    return set_up(Project(tmp_path_factory.mktemp("evaluated")))


@pytest.fixture(scope="module")
def as_json(evaluated: Project) -> Outcome:
    return evaluated.agent_eval("run", "bot", "set.json", "--json")


@pytest.fixture(scope="module")
def report(shop: Project) -> str:
    """What a run of all cases prints, wide enough for one line a case."""
    return shop.agent_eval("run", "bot", "set.json", COLUMNS="110").stdout


def block(report: str, eval_id: str) -> str:
    """What the report says of a case below the table."""
    start = re.search(rf"^[✗?] {eval_id} .*$", report, re.MULTILINE)
    assert start, report
    return report[start.start() :].split("\n\n")[0]


@pytest.mark.parametrize(
    ("cases", "code"),
    [
        pytest.param("passes", 0, id="every case passed"),
        pytest.param("passes,wrong_answer", 1, id="a case failed"),
        pytest.param("passes,unjudged", 3, id="a case was not evaluated"),
        pytest.param("wrong_answer,unjudged", 1, id="failure outweighs not evaluated"),
        pytest.param("passes,crashes", 1, id="a run crashed"),
    ],
)
def test_exit_code_tells_the_verdicts(shop: Project, cases: str, code: int) -> None:
    done = shop.agent_eval("run", "bot", f"set.json:{cases}", "--quiet")

    assert done.code == code
    assert re.fullmatch(r"1 eval set, \d cases?: \d passed, \d failed, \d not evaluated\n", done.stdout)
    assert done.stderr == ""


def test_json_is_one_document_and_the_report_goes_to_stderr(evaluated: Project, as_json: Outcome) -> None:
    document = as_json.document

    assert as_json.code == document["exit_code"] == 1
    totals = {"cases": 6, "passed": 1, "failed": 4, "not_evaluated": 1, "flaky": 0}
    assert document["totals"].items() >= totals.items()
    assert [case["eval_id"] for case in document["cases"]] == [case["eval_id"] for case in CASES]
    assert "goodbye for now" in as_json.stderr
    files = document["results"][0]["files"]
    summary = json.loads((evaluated.root / files["summary"]).read_bytes())
    assert summary["cases"] == document["cases"]
    assert (evaluated.root / files["journal"]).is_file()


def test_result_says_what_was_run(as_json: Outcome) -> None:
    (result,) = as_json.document["results"]

    assert result["provenance"]["command"] == "agent-eval run bot set.json --json"
    assert result["agent"] == {"name": "bot", "kind": "python", "reference": "bot"}
    assert result["eval_set"]["path"] == "set.json"
    assert result["config"]["path"] == "set.eval_config.json"
    assert len(result["eval_set"]["sha256"]) == len(result["config"]["sha256"]) == 64


def test_json_tells_input_errors_too(shop: Project) -> None:
    done = shop.agent_eval("run", "bot", "set.json:pases", "--json")

    assert done.code == done.document["exit_code"] == 2
    (error,) = done.document["errors"]
    assert error["message"] == "there is no case `pases`"
    assert error["file"] == "set.json"
    assert error["hint"] == "did you mean `passes`?"
    assert "error: set.json: there is no case `pases` (did you mean `passes`?)" in done.stderr


def test_cases_are_listed_when_an_unknown_one_resembles_none(shop: Project) -> None:
    done = shop.agent_eval("run", "bot", "set.json:zzz")

    assert done.code == 2
    assert "its cases are passes, wrong_answer, wrong_call" in done.stderr
    assert done.stdout == ""


def test_dry_run_shows_all_that_would_be_used_and_asks_no_agent(project: Project) -> None:
    set_up(project)

    done = project.agent_eval("run", "bot", "set.json:passes,paints", "--num_runs", "3", "--dry_run")

    assert done.code == 0
    assert not (project.root / "asked").exists()
    assert not (project.root / ".agent_eval").exists()
    assert re.search(r"cases +2 x 3 runs: passes, paints", done.stdout)
    assert re.search(r"agent +bot \(named\)", done.stdout)
    assert re.search(r"config +set\.eval_config\.json \(beside the eval set\)", done.stdout)
    assert re.search(r"metric +response_match_score >= 0\.80", done.stdout)
    assert re.search(r"metric +gate >= 0\.50", done.stdout)
    assert "6 runs would be made" in done.stdout


def test_dry_run_says_on_which_side_of_the_threshold_a_score_has_to_be(project: Project) -> None:
    project.agent(AGENT)
    project.write("set.json", eval_set(case("a")))
    project.write("limits.json", {"criteria": {"max_turns_v1": 3, "response_match_score": 0.5}})

    done = project.agent_eval("run", "bot", "set.json", "--config", "limits.json", "--dry_run")

    assert re.search(r"metric +max_turns_v1 <= 3\.00", done.stdout)
    assert re.search(r"metric +response_match_score >= 0\.50", done.stdout)


def test_dry_run_says_what_needs_a_judge(project: Project) -> None:
    project.agent(AGENT)
    project.write("set.json", eval_set(case("a")))
    project.write("judged.json", {"criteria": {"final_response_match_v2": 0.8}})
    judged = ("run", "bot", "set.json", "--config", "judged.json")

    dry = project.agent_eval(*judged, "--dry_run", "--json")

    assert dry.code == 0
    (planned,) = dry.document["eval_sets"]
    assert planned["metrics"][0]["metric_name"] == "final_response_match_v2"
    assert planned["metrics"][0]["needs_judge"] is True
    assert planned["metrics"][0]["judge_model"] == "gemini-2.5-flash"
    assert "judged by gemini-2.5-flash" in project.agent_eval(*judged, "--dry_run").stdout


def test_set_selected_twice_is_run_once_with_all_cases_named(shop: Project) -> None:
    twice = ("set.json:paints", "./set.json:passes", "--evalset", "set.json:paints")

    done = shop.agent_eval("run", "bot", *twice, "--dry_run", "--json")

    (planned,) = done.document["eval_sets"]
    assert planned["cases"] == ["passes", "paints"]
    assert done.document["runs"] == 2


def test_hyphens_and_underscores_and_the_eval_command_are_the_same(shop: Project) -> None:
    ways = [
        shop.agent_eval(*words, "bot", "set.json", *options)
        for words, options in (
            (("run",), ("--num_runs", "2", "--dry_run")),
            (("run",), ("--num-runs", "2", "--dry-run")),
            (("eval", "run"), ("--num_runs=2", "--dry-run")),
        )
    ]

    assert ways[0].code == 0
    assert "x 2 runs" in ways[0].stdout
    assert ways[0] == ways[1] == ways[2]


def test_detailed_results_show_every_turn(shop: Project) -> None:
    done = shop.agent_eval("run", "bot", "set.json:wrong_call,crashes", "--print_detailed_results")

    assert "1. user: look up" in done.stdout
    assert 'call: look_up(order_id="A1", region="north")' in done.stdout
    assert "agent: look up" in done.stdout
    assert "1. user: crash" in done.stdout
    assert 'raise RuntimeError("socket reset")' in done.stdout


def test_report_has_a_row_for_each_case_and_the_totals(report: str) -> None:
    def row(pattern: str) -> bool:
        return bool(re.search(f"^{pattern}", report, re.MULTILINE))

    assert row(r"passes +PASSED +✓ 1\.00 / 1\.00 +✓ 1\.00 / 0\.80")
    assert row(r"wrong_answer +FAILED +✓ 1\.00 / 1\.00 +✗ 0\.00 / 0\.80")
    assert row(r"crashes +FAILED +\? - / 1\.00 +\? - / 0\.80")
    assert row(r"unjudged +NOT_EVALUATED +✓ 1\.00 / 1\.00 +✓ 1\.00 / 0\.80 +\? - / 0\.50")
    assert row(r"6 cases: 1 passed, 4 failed, 1 not evaluated")
    assert row(r"Result: \.agent_eval/results/demo/\S+\.json$")


def test_failed_answer_is_shown_beside_the_expected_one(report: str) -> None:
    said = block(report, "wrong_answer")

    assert re.search(r"response_match_score +0\.00 / 0\.80", said)
    assert re.search(r"expected +actual\s*\n +goodbye for now +hello there", said)


def test_failed_trajectory_marks_the_first_argument_that_differs(report: str) -> None:
    said = block(report, "wrong_call")

    assert re.search(r"^ +look_up +look_up\s*$", said, re.MULTILINE)
    assert re.search(r'^ +order_id: "A1" +order_id: "A1"\s*$', said, re.MULTILINE)
    assert re.search(r'^ +> +region: "south" +region: "north"\s*$', said, re.MULTILINE)
    assert said.count(">") == 1


def test_metric_that_was_not_evaluated_names_its_cause(report: str) -> None:
    assert "gate: RuntimeError: quota exceeded" in block(report, "unjudged")


def test_crash_is_told_with_its_type_and_message(report: str) -> None:
    assert "crashed: RuntimeError: socket reset" in block(report, "crashes")


def test_control_codes_of_an_answer_are_spelled_out(report: str) -> None:
    assert r"\x1b[31mred\u202e reversed\r\x9b2J" in block(report, "paints")


def test_pipe_gets_no_control_codes(report: str, as_json: Outcome) -> None:
    for printed in (report, as_json.stdout, as_json.stderr):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", printed)


def test_long_names_stay_within_the_width_and_are_shown_whole(project: Project) -> None:
    names = ("mentions_the_order_number", "keeps_to_the_house_style")
    project.agent()
    project.write("gates.py", GATES + f"\n\n    {names[0]} = {names[1]} = gate\n")
    long = case("x" * 150, "word " * 60, answer="other " * 60)
    project.write("set.json", eval_set(case("Y" * 200), long))
    project.write("config.json", custom(*names, tool_trajectory_avg_score=1.0, response_match_score=0.8))

    done = project.agent_eval("run", "bot", "set.json", "--config", "config.json", "--print-detailed-results")

    assert done.code == 1
    assert max(len(line) for line in done.stdout.splitlines() if not line.startswith("Result: ")) <= 80
    assert done.stdout.count("Y") == 2 * 200  # in the table and above the details
    assert all(name in done.stdout for name in names)


def test_stream_that_cannot_encode_signs_gets_ascii_ones(shop: Project) -> None:
    done = shop.agent_eval("run", "bot", "set.json:passes", PYTHONIOENCODING="ascii")

    assert done.code == 0
    assert re.search(r"^passes +\|PASSED +\|\+ 1\.00 / 1\.00", done.stdout, re.MULTILINE)


def test_results_go_to_the_folder_that_is_named(project: Project) -> None:
    project.agent()
    project.write("set.json", eval_set(case("a")))

    done = project.agent_eval("run", "bot", "set.json", "--output", "kept/here")

    assert done.code == 0
    assert project.summary("kept/here")["cases"][0]["verdict"] == "PASSED"
    assert [record.eval_id for record in project.records("kept/here")] == ["a"]
    assert not (project.root / ".agent_eval").exists()


def test_output_folder_that_cannot_be_made_is_an_error_before_anything_runs(project: Project) -> None:
    project.agent(AGENT)
    project.write("set.json", eval_set(case("a")))
    project.write("kept", "a file\n")

    done = project.agent_eval("run", "bot", "set.json", "--output", "kept", "--json")

    assert done.code == 2
    assert "kept/demo" in done.stderr
    assert done.document["errors"]
    assert not (project.root / "asked").exists()


def test_expected_pattern_that_cannot_be_used_is_told_before_anything_runs(project: Project) -> None:
    project.agent(AGENT)
    bad = case("a", "look up")
    bad["conversation"][0]["intermediate_data"] = {
        "tool_uses": [{"name": "look_up", "args": {"order_id": {"$regex": "("}}}]
    }
    project.write("set.json", eval_set(bad))

    done = project.agent_eval("run", "bot", "set.json")

    assert done.code == 2
    assert "set.json: case `a`, turn 1, tool `look_up`: `$regex` is no regular expression" in done.stderr
    assert not (project.root / "asked").exists()


def test_set_named_by_its_id_is_found_in_the_agents_folder(project: Project) -> None:
    project.agent()
    project.write("bot/orders.evalset.json", eval_set(case("a"), case("b"), case("c"), eval_set_id="orders"))
    project.write("bot/test_config.json", RESPONSES)

    done = project.agent_eval("run", "bot", "orders:a,c")

    assert done.code == 0
    assert [case["eval_id"] for case in project.summary()["cases"]] == ["a", "c"]
    assert Path(project.summary()["config"]["path"]) == Path("bot/test_config.json")


def test_several_sets_end_with_their_sum(project: Project) -> None:
    project.agent()
    project.write("one.json", eval_set(case("a"), eval_set_id="one"))
    project.write("two.json", eval_set(case("a", answer="other"), case("b"), eval_set_id="two"))
    project.write("eval_config.json", RESPONSES)

    done = project.agent_eval("run", "bot", "one.json", "two.json:a")

    assert done.code == 1
    assert done.stdout.endswith("2 eval sets, 2 cases: 1 passed, 1 failed, 0 not evaluated\n")
    assert len(project.results()) == 2


def test_surprise_is_a_bug_of_ours_with_a_hint_how_to_report_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left, Output():
        raise ZeroDivisionError("division by zero")

    assert left.value.code == 4
    assert "bug in agent-eval: ZeroDivisionError: division by zero" in capsys.readouterr().err


def test_usage_error_names_the_option(project: Project) -> None:
    project.agent(ECHO)

    done = project.agent_eval("run", "bot", "set.json", "--num_runs", "0")

    assert done.code == 2
    assert "--num_runs" in done.stderr
    assert done.stdout == ""
