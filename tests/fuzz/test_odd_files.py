"""What stands where a file should: refused with a reason, in little time and memory."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from agent_eval.errors import AgentEvalError
from agent_eval.inputs.documents import read_bytes
from agent_eval.inputs.project import Project as Settings
from agent_eval.inputs.project import ProjectSettings
from agent_eval.lint.linter import lint
from tests.cli_support import RESPONSES, Outcome, Project, case, eval_set
from tests.fuzz.readers import READERS, Reader
from tests.fuzz.runner import at_most

SECONDS = 5.0
EVERY_READER = [
    pytest.param(reader, id=reader.name)
    for reader in READERS
    if reader.name != "judge's answer"  # which is no file
]
HAVE_ANOTHER_WAY = ("lint of an eval set", "lint of a config", "pyproject.toml", "judge cache")
"""Readers that say what is wrong, look elsewhere, or go on without."""


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        cwd = Path.cwd()
        os.chdir(path.parent)  # names of sockets are short
        try:
            listening.bind(path.name)
        finally:
            os.chdir(cwd)


def _loop(path: Path) -> None:
    other = path.with_name(f"other-{path.name}")
    path.symlink_to(other)
    other.symlink_to(path)


ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "FIFO": (os.mkfifo, "not a regular file"),
    "folder": (Path.mkdir, "directory"),
    "socket": (_socket, "not a regular file"),
    "device without an end": (lambda path: path.symlink_to("/dev/zero"), "not a regular file"),
    "device that nothing can be read from": (lambda path: path.symlink_to("/dev/null"), "not a regular file"),
    "links in a circle": (_loop, "symbolic links"),
    "link to itself": (lambda path: path.symlink_to(path), "symbolic links"),
    "link to nothing": (lambda path: path.symlink_to("gone"), "no such file"),
    "nothing": (lambda path: None, "no such file"),
}
EVERY_ODD_FILE = [pytest.param(*odd, id=name) for name, odd in ODD.items()]


@pytest.mark.parametrize("reader", EVERY_READER)
@pytest.mark.parametrize(("make", "told"), EVERY_ODD_FILE)
def test_odd_file_is_refused_without_waiting(
    reader: Reader, make: Callable[[Path], object], told: str, tmp_path: Path
) -> None:
    path = tmp_path / reader.file
    make(path)
    with at_most(SECONDS):
        if reader.name in HAVE_ANOTHER_WAY:
            with suppress(AgentEvalError):
                reader.read(path)
        else:
            told = "no such file" if reader.name == ".env" else told
            with pytest.raises(AgentEvalError, match=told):
                reader.read(path)


@pytest.mark.parametrize("reader", [one for one in EVERY_READER if one.id not in (*HAVE_ANOTHER_WAY, ".env")])
@pytest.mark.parametrize("name", ["n" * 300, "a\0b", "a/" * 3000], ids=["long", "NUL", "long path"])
def test_name_that_no_file_has_is_refused(reader: Reader, name: str, tmp_path: Path) -> None:
    with pytest.raises(AgentEvalError):
        reader.read(tmp_path / name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.evalset.json"
    path.write_text("{}")
    path.chmod(0)
    with pytest.raises(AgentEvalError, match="Permission denied"):
        read_bytes(path)


# The command line


@pytest.fixture
def desk(project: Project) -> Project:
    project.agent()
    project.write("good.evalset.json", eval_set(case("a")))
    project.write("eval_config.json", RESPONSES)
    (project.root / "evalsets").mkdir()
    os.mkfifo(project.root / "evalsets" / "pipe.evalset.json")
    os.mkfifo(project.root / "pipe")
    _loop(project.root / "loop.evalset.json")
    (project.root / "around").mkdir()
    (project.root / "around" / "again").symlink_to("..", target_is_directory=True)
    return project


COMMANDS = {
    "run": ("run", "bot", "evalsets/pipe.evalset.json"),
    "run of all": ("run", "bot", "--all"),
    "run of a loop": ("run", "bot", "loop.evalset.json"),
    "run by a config": ("run", "bot", "good.evalset.json", "--config", "pipe"),
    "run with variables": ("run", "bot", "good.evalset.json", "--env_file", "pipe"),
    "run of a pipe as agent": ("run", "pipe", "good.evalset.json"),
    "compare": ("compare", "pipe", "loop.evalset.json"),
    "report": ("report", "pipe"),
    "explain": ("explain", "pipe"),
    "grade": ("grade", "pipe", "--config", "eval_config.json"),
    "rerun": ("run", "--rerun", "failed", "pipe"),
    "labels": ("judge", "check", "good.evalset.json", "--labels", "pipe"),
    "scenarios": ("scenario", "add", "new.evalset.json", "--scenarios_file", "pipe"),
}


@pytest.mark.slow
@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_command_given_an_odd_file_ends_as_wrong_usage(desk: Project, arguments: tuple[str, ...]) -> None:
    outcome = desk.agent_eval(*arguments)
    assert outcome.code == 2, outcome
    assert "error:" in outcome.stderr
    assert "bug in agent-eval" not in outcome.stderr


@pytest.mark.slow
def test_lint_of_a_folder_with_pipes_and_loops_comes_to_an_end(desk: Project) -> None:
    outcome = desk.agent_eval("lint", ".")
    assert outcome == Outcome(0, "2 files: 0 errors, 0 warnings\n", "")


@pytest.mark.slow
def test_pipe_of_a_shell_is_read(desk: Project) -> None:
    words = " ".join(
        desk.command("run", "bot", "--evalset", "/dev/stdin", "--config", "<(cat eval_config.json)")
    )
    with (desk.root / "good.evalset.json").open("rb") as given:
        done = subprocess.run(
            ["bash", "-c", f"cat | {words}"],
            cwd=desk.root, env=desk.environment(), stdin=given, capture_output=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    assert desk.case("a")["verdict"] == "PASSED"


@pytest.mark.slow
def test_many_findings_are_placed_in_little_time(tmp_path: Path) -> None:
    cases = [case(f"../{number}", "hello " * 20) for number in range(4000)]
    path = tmp_path / "x.evalset.json"
    path.write_text(json.dumps(eval_set(*cases), indent=1))
    with at_most(SECONDS * 6):
        report = lint([str(path)], Settings(tmp_path, ProjectSettings(), None))
    lines = [finding.line for finding in report.findings if finding.code == "AE711"]
    assert lines == sorted(lines)
    assert len(set(lines)) == 4000


# Large files

LARGE = 100_000_000
GIGABYTE = 1000.0

_CASE = '{"eval_set_id": "x", "eval_cases": [{"eval_id": "a", "conversation": ['
_RUN = {
    "eval_set_id": "s", "eval_id": "e", "run_index": 0, "seed": 0, "started": "2026-01-31", "seconds": 1
}  # fmt: skip
_RECORD = json.dumps(_RUN)[:-1] + ', "invocations": ['
_ADK = '{"eval_set_id": "x", "eval_case_results": ['

CONTENTS: dict[str, tuple[str, str, str, str]] = {
    "eval set, long text": (
        "eval set",
        _CASE + '{"user_content": {"parts": [{"text": "',
        "x",
        '"}]}}]}]}',
    ),
    "eval set, cases that are none": ("eval set", '{"eval_set_id": "x", "eval_cases": [', "1,", "1]}"),
    "eval set, turns that are none": ("eval set", _CASE, "1,", "1]}]}"),
    "eval set, unknown keys": ("eval set", '{"eval_set_id": "x"', ', "k": 1', "}"),
    "eval set, brackets": ("eval set", "", "[", ""),
    "eval set, NUL": ("eval set", "", "\0", ""),
    "eval set, old form": ("eval set, old form", '[{"query": 1}', ', {"query": 1}', "]"),
    "config": ("eval config", '{"criteria": {', '"a": 1,', '"b": 1}}'),
    "config, YAML": ("eval config, YAML", "criteria:\n", "  a: 1\n", ""),
    "labels": ("labels", "[1", ", 1", "]"),
    "labels, JSON Lines": ("labels, JSON Lines", "", '{"eval_id": "a"}\n', ""),
    "journal, one record": ("journal", _RECORD, "{},", "{}]}\n"),
    "journal, no record": ("journal", "", "x", "\n"),
    "summary": ("result summary", '{"schema_version": 1, "cases": [', "1,", "1]}"),
    "ADK result": ("ADK result", _ADK, "{},", "{}]}"),
    "traces": ("traces", '{"eval_cases": [{"responses": []}', ", {}", "]}"),
}

SCRIPT = """
import json, sys
from pathlib import Path
from agent_eval.errors import AgentEvalError
from tests.fuzz.readers import READERS
from tests.fuzz.runner import peak
reader = next(reader for reader in READERS if reader.name == sys.argv[1])
told = "accepted"
try:
    reader.read(Path(sys.argv[2]))
except AgentEvalError as error:
    told = str(error)
print(json.dumps([told[:200], peak()]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start", "middle", "end"), CONTENTS.values(), ids=CONTENTS)
def test_large_file_fits_in_memory(name: str, start: str, middle: str, end: str, tmp_path: Path) -> None:
    reader = next(reader for reader in READERS if reader.name == name)
    path = tmp_path / reader.file
    with path.open("w") as file:
        file.write(start)
        for _ in range(100):
            file.write(middle * (LARGE // 100 // len(middle)))
        file.write(end)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, name, str(path)],
        cwd=Path(__file__).parents[2], capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    path.unlink()
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    told, megabytes = json.loads(done.stdout)
    assert told == "accepted" or told.startswith(str(path))
    assert megabytes < GIGABYTE, told
