"""From no eval set to the first one: init, record, history, and what the shell completes."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.cli_support import RESPONSES, Outcome, Project, case, eval_set

pytestmark = pytest.mark.slow

AGENT = """\
    def look_up(order_id):
        return {"state": "shipped"}


    async def root_agent(message, session):
        if "crash" in message.text:
            raise LookupError("no such order")
        if "A1" in message.text:
            await session.call_tool(look_up, order_id="A1")
        return f"You said: {message.text}"
    """


@pytest.fixture
def here(project: Project) -> Project:
    project.agent(AGENT)
    return project


def typed(project: Project, text: str, *arguments: str) -> Outcome:
    """A command with this text typed into it."""
    done = subprocess.run(
        project.command(*arguments),
        cwd=project.root,
        env=project.environment(),
        input=text.encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def cases(project: Project, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((project.root / path).read_text())["eval_cases"]
    return found


def test_a_conversation_becomes_a_case_once_it_was_seen(here: Project) -> None:
    talk = "Where is A1?\nThanks ✓\n\nwhere\n"

    refused = typed(here, talk + "n\n", "record", "bot", "set.json")
    assert refused.code == 0
    assert "Thanks ✓" in refused.stdout
    assert not (here.root / "set.json").exists()

    written = typed(here, talk + "y\n", "record", "bot", "set.json")
    assert json.loads(written.stdout) == cases(here, "set.json")[0]
    (first,) = cases(here, "set.json")
    assert first["eval_id"] == "where"
    assert first["conversation"][0]["intermediate_data"]["tool_uses"] == [
        {"name": "look_up", "args": {"order_id": "A1"}}
    ]
    assert "call look_up" in written.stderr

    here.write("eval_config.json", {"criteria": {"tool_trajectory_avg_score": 1, "response_match_score": 1}})
    assert here.agent_eval("run", "bot", "set.json").code == 0


def test_what_is_in_the_file_stays(here: Project) -> None:
    here.write(
        "set.json", {"$schema": "x.json", "evalSetId": "demo", "evalCases": [case("first")], "more": 1}
    )

    assert typed(here, "hello\n", "record", "bot", "set.json", "--case", "second", "--yes").code == 0

    document = json.loads((here.root / "set.json").read_text())
    assert document["more"] == 1
    assert [one["eval_id"] for one in document["evalCases"]] == ["first", "second"]


RECORDS: dict[str, tuple[str, list[str], int, str]] = {
    "the id is taken": ("hi\n", ["--case", "first", "--yes"], 2, "duplicate eval id `first`"),
    "nothing is said": ("\n", ["--yes"], 2, "nothing was said"),
    "the agent raises": ("hi\ncrash\n", ["--yes", "--case", "new"], 0, "raised LookupError: no such order"),
    "names are offered": ("hi\n\n\ny\n", [], 0, "Name of the case (case_1)"),
}


@pytest.mark.parametrize(("text", "arguments", "code", "told"), RECORDS.values(), ids=RECORDS.keys())
def test_records(here: Project, text: str, arguments: list[str], code: int, told: str) -> None:
    here.write("set.json", eval_set(case("first")))
    outcome = typed(here, text, "record", "bot", "set.json", *arguments)
    assert outcome.code == code, outcome.stderr
    assert told in outcome.stderr
    assert len(cases(here, "set.json")) == (1 if code else 2)


def test_init_finds_the_agent_and_writes_what_can_be_run(here: Project) -> None:
    outcome = here.agent_eval("init")

    assert outcome.code == 0, outcome.stderr
    assert "agent-eval run bot evalsets/bot.evalset.json" in outcome.stdout
    assert here.agent_eval("run", "bot", "evalsets/bot.evalset.json").code == 1  # it is to be filled in
    again = here.agent_eval("init")
    assert (again.code, "nothing is overwritten" in again.stderr) == (2, True)


def test_init_from_recordings(here: Project) -> None:
    events = [
        {
            "author": "user",
            "invocationId": "1",
            "content": {"role": "user", "parts": [{"text": "Is A1 here?"}]},
        },
        {
            "author": "bot",
            "invocationId": "1",
            "content": {
                "parts": [{"functionCall": {"id": "c", "name": "look_up", "args": {"order_id": "A1"}}}]
            },
        },
        {
            "author": "bot",
            "invocationId": "1",
            "content": {"parts": [{"functionResponse": {"id": "c", "name": "look_up", "response": {}}}]},
        },
        {
            "author": "bot",
            "invocationId": "1",
            "actions": {"stateDelta": {}, "artifactDelta": {}},
            "content": {"role": "model", "parts": [{"text": "You said: Is A1 here?"}]},
        },
    ]
    here.write("session.json", {"id": "s1", "appName": "elsewhere", "userId": "u", "events": events})

    assert here.agent_eval("init", "bot", "--from", "session.json").code == 0
    assert [one["eval_id"] for one in cases(here, "evalsets/bot.evalset.json")] == ["s1"]
    assert here.agent_eval("run", "--all", "--agent", "bot").code == 0

    (journal,) = (here.root / ".agent_eval/results/bot").glob("*.runs.jsonl")
    here.agent(AGENT, "other")
    assert here.agent_eval("init", "other", "--from", str(journal)).code == 0
    assert here.agent_eval("run", "other", "evalsets/other.evalset.json").code == 0


INITS: dict[str, tuple[list[str], str]] = {
    "no such agent": (["init", "boot"], "there is no agent `boot`"),
    "no recording": (["init", "bot", "--from", "none.json"], "none.json: no such file"),
    "something else": (["init", "bot", "--from", "other.json"], "is no recording"),
    "several agents": (["init"], "there are 2 agents: bot, second"),
}


@pytest.mark.parametrize(("arguments", "told"), INITS.values(), ids=INITS.keys())
def test_what_init_refuses(here: Project, arguments: list[str], told: str) -> None:
    here.write("other.json", {"eval_cases": []})
    here.agent(AGENT, "second")
    outcome = here.agent_eval(*arguments)
    assert outcome.code == 2
    assert told in outcome.stderr
    assert not (here.root / "evalsets").exists()


@pytest.fixture
def ran(here: Project) -> Project:
    """Three results: one failed, one passed, one of a case alone."""
    here.write("eval_config.json", RESPONSES)
    for ask, arguments in (("hi", []), ("You said: hi", []), ("You said: hi", ["--case", "b"])):
        answered = case("a", "hi", answer=ask)
        here.write("set.json", eval_set(answered, case("b", "hi", answer="You said: hi")))
        here.agent_eval("run", "bot", "set.json", *arguments)
    return here


def test_history(ran: Project) -> None:
    outcome = ran.agent_eval("history")
    assert outcome.code == 0, outcome.stderr
    assert "demo  3 results  ▅██" in outcome.stdout
    assert max(len(line) for line in outcome.stdout.splitlines()) <= 80
    (line,) = (line.split() for line in outcome.stdout.splitlines() if line.startswith("a "))
    assert line == ["a", "PASSED", "1/2", "▁█·"]

    plain = ran.agent_eval("history", "set.json", "--last", "2", PYTHONIOENCODING="ascii")
    assert "demo  2 results  ##" in plain.stdout
    assert plain.stdout.isascii()


def test_history_for_scripts_and_of_nothing(ran: Project) -> None:
    (history,) = ran.agent_eval("history", "--json").document["history"]
    assert [one["totals"]["passed"] for one in history["results"]] == [1, 2, 1]
    assert [one["eval_id"] for one in history["results"][2]["cases"]] == ["b"]

    ran.results()[0].write_text("{")
    passed_over = ran.agent_eval("history", "demo", "--json")
    assert len(passed_over.document["history"][0]["results"]) == 2
    assert "passed over" in passed_over.stderr
    unknown = ran.agent_eval("history", "demmo")
    assert (unknown.code, "did you mean `demo`?" in unknown.stderr) == (2, True)


COMPLETIONS: dict[str, tuple[str, list[str]]] = {
    "agents and eval sets": ("run ", ["set.evalset.json", "bot"]),
    "cases behind a colon": (
        "run bot set.evalset.json:",
        ["set.evalset.json:refund", "set.evalset.json:return"],
    ),
    "a second case": ("run bot set.evalset.json:refund,", ["set.evalset.json:refund,return"]),
    "cases": ("run bot set.evalset.json --case ref", ["refund"]),
    "cases of the project": ("run --case re", ["refund", "return"]),
    "metrics": ("judge show set.evalset.json --metric halluc", ["hallucinations_v1"]),
    "schemas": ("schema ", ["evalset", "config", "result"]),
    "nothing in a broken file": ("run bot broken.json:", []),
}


@pytest.mark.parametrize(("line", "expected"), COMPLETIONS.values(), ids=COMPLETIONS.keys())
def test_the_shell_completes(here: Project, line: str, expected: list[str]) -> None:
    here.write("set.evalset.json", eval_set(case("refund"), case("return")))
    here.write("broken.json", "{")
    words = f"agent-eval {line}"
    outcome = here.agent_eval(
        _AGENT_EVAL_COMPLETE="complete_bash",
        COMP_WORDS=words,
        COMP_CWORD=str(len(words.split(" ")) - 1),
    )
    assert outcome.stdout.split() == expected, outcome.stderr
