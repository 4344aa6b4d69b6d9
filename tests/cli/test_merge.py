"""Shards of an evaluation, made by real processes, are merged into what one process would have made."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_eval.errors import InputError
from agent_eval.merging import plan_merge
from agent_eval.store.journal import SUFFIX, read_journal
from tests.cli_support import RESPONSES, RESULTS, Project, case, eval_set

pytestmark = pytest.mark.slow

MOODY = """\
    def root_agent(message, session):
        draw = session.random.random()
        if draw < 0.15:
            raise LookupError("no such order")
        return message.text if draw < 0.8 else "nonsense"
    """
SETS = ("orders.json", "refunds.json")
RUN = ("run", "bot", *SETS, "--num-runs", "3", "-q")


def desk(project: Project) -> Project:
    project.agent(MOODY)
    project.write("eval_config.json", RESPONSES)
    for name, size in (("orders", 7), ("refunds", 2)):
        cases = [case(f"{name}{number}", f"{name} {number}, please") for number in range(size)]
        project.write(f"{name}.json", eval_set(*cases, eval_set_id=name))
    return project


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Three shards, each in a folder of its own; nothing may change them."""
    project = desk(Project(tmp_path_factory.mktemp("made")))
    for index in (1, 2, 3):
        outcome = project.agent_eval(*RUN, "--shard", f"{index}/3", "--output", f"part{index}")
        assert outcome.code in (0, 1), outcome.stderr
    return project


@pytest.fixture
def parts(made: Project, project: Project) -> Project:
    """A copy of them."""
    shutil.copytree(made.root, project.root, dirs_exist_ok=True)
    return project


_DURATIONS = (
    re.compile(rb'(?<="seconds":)[-+.e0-9]+'),
    re.compile(rb'(?<={"metric_name":"invocation_duration_v1","score":).*?(?=})'),
)


def cases_of(summary: Path) -> bytes:
    """The cases of a summary as they are written, but for what the clock said."""
    content = summary.read_bytes()
    cases = content[content.rindex(b',"cases":[{') :]
    for duration in _DURATIONS:
        cases = duration.sub(b"-", cases)
    return cases


def summary_of(project: Project, folder: str, eval_set_id: str) -> Path:
    (summary,) = (project.root / folder / eval_set_id).glob("*.json")
    return summary


def runs_of(project: Project, folder: str) -> list[tuple[str, int]]:
    """The runs in all journals below a folder."""
    journals = (project.root / folder).rglob(f"*{SUFFIX}")
    return sorted((record.eval_id, record.run_index) for path in journals for record in read_journal(path))


def test_merged_equals_unsharded_byte_for_byte_in_its_verdicts(project: Project) -> None:
    desk(project)
    whole = project.agent_eval(*RUN, "--output", "whole")
    for count in range(1, 6):
        shards = [f"{count}/part{index}" for index in range(1, count + 1)]
        for index, folder in enumerate(shards, 1):
            project.agent_eval(*RUN, "--shard", f"{index}/{count}", "--output", folder)
        merged = project.agent_eval("merge", *reversed(shards), "--output", f"{count}/merged", "-q")
        assert (merged.code, merged.stdout, merged.stderr) == (whole.code, whole.stdout, "")
        for eval_set_id in ("orders", "refunds"):
            one, other = (summary_of(project, name, eval_set_id) for name in ("whole", f"{count}/merged"))
            assert cases_of(other) == cases_of(one)
            ours, theirs = (json.loads(file.read_bytes()) for file in (other, one))
            for document in (ours, theirs):
                document["totals"].pop("duration_seconds")
            for key in ("totals", "agent", "config", "eval_set", "causes"):
                assert ours.get(key) == theirs.get(key), key
            assert "shard" not in ours["provenance"]
    assert runs_of(project, "5/merged") == runs_of(project, "whole")


def test_cases_that_fail_alike_on_different_machines_are_told_to_do_so(project: Project) -> None:
    project.agent("def root_agent(message, session):\n    raise LookupError('no such order')\n")
    project.write("eval_config.json", RESPONSES)
    project.write("set.json", eval_set(*(case(f"c{number}") for number in range(4))))
    for index in (1, 2):
        project.agent_eval(
            "run",
            "bot",
            "set.json",
            "--shard",
            f"{index}/2",
            "--output",
            f"part{index}",
            "--no-circuit-breaker",
        )
    assert "causes" not in json.loads(summary_of(project, "part1", "demo").read_bytes())
    merged = project.agent_eval("merge", "part1", "part2", "--output", "merged")
    assert merged.code == 1
    assert "the agent crashes in all 4 cases in the same way" in merged.stdout


def test_a_shard_without_cases_writes_nothing_and_is_no_error(project: Project) -> None:
    desk(project)
    outcome = project.agent_eval(*RUN, "--shard", "10/10", "--json", "--junit-xml", "junit.xml")
    assert (outcome.code, outcome.document["cases"]) == (0, [])
    assert "shard 10/10 has no case" in outcome.stderr
    assert not (project.root / RESULTS).exists()
    assert (project.root / "junit.xml").exists()


def test_merge_reports_as_run_does(parts: Project) -> None:
    parts.write("summary.md", "")
    merged = parts.agent_eval(
        "merge", "part1", "part2", "part3", "--json", "--html", "page.html", "--junit-xml", "junit.xml",
        GITHUB_STEP_SUMMARY="summary.md",
    )  # fmt: skip
    document = merged.document
    assert document["exit_code"] == merged.code == 1
    assert [one["eval_id"] for one in document["cases"]] == [
        *(f"orders{number}" for number in range(7)),
        *(f"refunds{number}" for number in range(2)),
    ]
    origin = document["results"][0]["provenance"]
    assert len(origin["merged_from"]) == 3
    assert origin["command"].startswith("agent-eval merge part1")
    for name in ("page.html", "junit.xml", "summary.md"):
        assert "orders6" in (parts.root / name).read_text(), name


def test_all_artifacts_may_lie_in_one_folder(parts: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(parts.root)
    for index in (1, 2, 3):
        shutil.copytree(f"part{index}", "artifacts/.agent_eval/results", dirs_exist_ok=True)
    plan = plan_merge(["artifacts"], allow_missing=False)
    assert [[part.shard.index for part in whole.parts] for whole in plan.wholes] == [[1, 2, 3], [2, 3]]


def test_the_newest_of_a_folder_counts(parts: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(parts.root)
    parts.agent_eval(*RUN, "--shard", "1/3", "--output", "part1")
    newest = max((parts.root / "part1" / "orders").glob("*.json"))
    plan = plan_merge(["part1", "part2", "part3"], allow_missing=False)
    assert plan.wholes[0].parts[0].path == str(newest.relative_to(parts.root))


Document = dict[str, Any]
Change = Callable[[Document], object]


def _set(*keys: str, value: Any) -> Change:
    def change(document: Document) -> None:
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = value

    return change


UNLIKE: dict[str, tuple[Change, str]] = {
    "eval set": (_set("eval_set", "sha256", value="x"), "another version of the eval set"),
    "config": (_set("config", "sha256", value="x"), "another config"),
    "runs": (_set("config", "multi_run_config", "num_runs", value=5), "another number of runs"),
    "seed": (_set("provenance", "seed", value=7), "another seed"),
    "agent": (_set("provenance", "shard", "agents", value=["other"]), "another agent"),
    "commit": (_set("provenance", "git_commit", value="c0ffee"), "another commit"),
    "count": (_set("provenance", "shard", "count", value=4), "another number of shards"),
    "choice": (_set("provenance", "shard", "cases", value=9), "another choice of cases"),
    "no shard": (_set("provenance", "shard", value=None), "was not made with --shard"),
    "the same case": (_set("provenance", "shard", "positions", value=[0, 4]), "has case `orders1`, as has"),
    "positions": (_set("provenance", "shard", "positions", value=[1]), "is damaged"),
    "no such position": (_set("provenance", "shard", "positions", value=[1, 99]), "is damaged"),
}


@pytest.mark.parametrize(("change", "told"), UNLIKE.values(), ids=UNLIKE.keys())
def test_what_does_not_belong_together_is_refused(
    parts: Project, monkeypatch: pytest.MonkeyPatch, change: Change, told: str
) -> None:
    monkeypatch.chdir(parts.root)
    summary = summary_of(parts, "part2", "orders")
    document = json.loads(summary.read_bytes())
    assert document["provenance"]["shard"] == {
        "index": 2, "count": 3, "used": 3, "positions": [1, 4], "cases": 7, "agents": ["bot"],
    }  # fmt: skip
    change(document)
    summary.write_text(json.dumps(document))
    others = [str(summary_of(parts, folder, "orders")) for folder in ("part1", "part3")]
    with pytest.raises(InputError, match=re.escape(told)) as refused:
        plan_merge([others[0], str(summary), others[1]], allow_missing=False)
    assert str(summary) in str(refused.value)


def test_one_shard_given_twice_is_refused_but_not_one_file(
    parts: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(parts.root)
    shutil.copytree("part1", "again")
    with pytest.raises(InputError, match="has case `orders0`, as has"):
        plan_merge(["part1", "part2", "part3", "again"], allow_missing=False)
    plan_merge(["part1", "part2", "part3", "part1"], allow_missing=False)


def test_other_versions_are_told(parts: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(parts.root)
    summary = summary_of(parts, "part2", "orders")
    document = json.loads(summary.read_bytes())
    document["provenance"]["packages"]["adk-agent-eval"] = "0.0.9"
    summary.write_text(json.dumps(document))
    (warning,) = plan_merge(["part1", "part2", "part3"], allow_missing=False).warnings
    assert "different versions of agent-eval: 0.0.9, " in warning


def test_a_missing_shard_is_refused_unless_it_is_allowed(
    parts: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(parts.root)
    with pytest.raises(InputError) as refused:
        plan_merge(["part1", "part3"], allow_missing=False)
    assert [problem.message for problem in refused.value.problems] == [
        "`orders`: 2 of 7 cases are missing: those of shard 2/3",
        "`refunds`: 1 of 2 cases are missing: those of shard 2/3",
    ]
    merged = parts.agent_eval("merge", "part1", "part3", "--allow-missing", "--json")
    orders = merged.document["results"][0]
    assert orders["totals"]["cases"] == 5
    assert orders["stopped"] == "`orders`: 2 of 7 cases are missing: those of shard 2/3"


def test_a_shard_is_missed_also_where_no_eval_set_tells(
    parts: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(parts.root)
    shutil.rmtree("part2/orders")
    shutil.rmtree("part3/orders")
    shutil.rmtree("part1")
    with pytest.raises(InputError, match=re.escape("shard 1/3 is missing, with all its cases")):
        plan_merge(["part2", "part3"], allow_missing=False)


def test_what_passed_as_far_as_it_is_there_has_not_passed(project: Project) -> None:
    project.agent()
    project.write("eval_config.json", RESPONSES)
    project.write("set.json", eval_set(case("one"), case("two")))
    assert project.agent_eval("run", "bot", "set.json", "--shard", "1/2", "--output", "part").code == 0
    assert project.agent_eval("merge", "part").code == 2
    merged = project.agent_eval("merge", "part", "--allow-missing")
    assert merged.code == 3
    assert "1 of 2 cases are missing: those of shard 2/2" in merged.stderr


def test_a_broken_off_shard_is_left_out_of_a_folder(parts: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(parts.root)
    summary_of(parts, "part2", "orders").unlink()
    plan = plan_merge(["part1", "part2", "part3"], allow_missing=True)
    assert any("has no summary: its evaluation was broken off" in warning for warning in plan.warnings)
    journal = next(Path("part2/orders").glob(f"*{SUFFIX}"))
    with pytest.raises(InputError, match="has no summary beside it"):
        plan_merge(["part1", str(journal)], allow_missing=True)


def test_a_result_without_its_journal_is_refused(parts: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(parts.root)
    summary = summary_of(parts, "part2", "orders")
    summary.with_name(summary.stem + SUFFIX).unlink()
    with pytest.raises(InputError, match="its journal is not beside it"):
        plan_merge(["part1", str(summary), "part3"], allow_missing=True)


def test_a_damaged_journal_leaves_no_half_result(parts: Project) -> None:
    journal = next((parts.root / "part3" / "orders").glob(f"*{SUFFIX}"))
    journal.write_bytes(b'{"nonsense": 1}\n' + journal.read_bytes())
    merged = parts.agent_eval("merge", "part1", "part2", "part3")
    assert merged.code == 2
    assert "not a run record" in merged.stderr
    assert list((parts.root / RESULTS / "orders").iterdir()) == []


def test_a_folder_without_shards_is_refused(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.root)
    with pytest.raises(InputError, match="holds no result that was made with --shard"):
        plan_merge(["."], allow_missing=False)


def test_a_shard_that_was_broken_off_and_went_on_is_that_shard_still(project: Project) -> None:
    project.agent(
        """\
        import asyncio
        from pathlib import Path


        async def root_agent(message, session):
            if message.text == "wait":
                Path("waiting").touch()
                while not Path("go").exists():
                    await asyncio.sleep(0.02)
            return message.text
        """
    )
    project.write("eval_config.json", RESPONSES)
    project.write("set.json", eval_set(case("one"), case("two"), case("three"), case("four", "wait")))
    shard = ("run", "bot", "set.json", "--shard")
    with project.running(*shard, "2/2", "--output", "part2") as process:
        project.wait_for("waiting", process)
        process.kill()
        process.communicate()
    (project.root / "go").touch()
    assert project.agent_eval("run", "--resume", "--output", "part2").code == 0
    assert project.agent_eval(*shard, "1/2", "--output", "part1").code == 0
    merged = project.agent_eval("merge", "part1", "part2", "--json")
    assert merged.code == 0, merged.stderr
    assert [one["eval_id"] for one in merged.document["cases"]] == ["one", "two", "three", "four"]
