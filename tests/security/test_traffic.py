"""What leaves the machine, what is written where, which processes start: seen by an audit hook."""

from __future__ import annotations

import http.server
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from agent_eval import serde
from tests.cli_support import Project, case, eval_set
from tests.model_server import ModelServer
from tests.security.support import Spied

QUIET = {
    "run": ("run", "bot", "orders.evalset.json", "--config", "coded.json"),
    "run with a judge in this process": ("run", "bot", "orders.evalset.json", "--config", "judged.json"),
    "grade": ("grade", "latest", "--config", "plain.json"),
    "lint": ("lint", "orders.evalset.json", "coded.json"),
    "compare": ("compare", "previous", "latest"),
    "report": ("report", "latest", "--html", "page.html", "--junit_xml", "page.xml", "--markdown", "page.md"),
    "explain": ("explain", "latest"),
    "history": ("history", "demo"),
    "judge show": ("judge", "show", "orders.evalset.json", "--case", "a", "--config", "judged.json"),
    "metrics": ("metrics",),
}


def _within(files: list[str], project: Spied) -> set[str]:
    """The files below the project by their first two folders, the others whole; what Python keeps not."""
    told = set()
    for file in files:
        below = os.path.relpath(file, os.path.realpath(project.root))
        if file != str(project.spied):
            told.add(file if below.startswith("..") else "/".join(Path(below).parts[:2]))
    return told


@pytest.mark.slow
@pytest.mark.parametrize("arguments", QUIET.values(), ids=QUIET)
def test_nothing_leaves_the_machine_and_files_are_written_where_it_is_said(
    ran: Spied, arguments: tuple[str, ...]
) -> None:
    assert ran.agent_eval(*arguments).code == 0
    assert ran.events("net") == []
    made = {"page.html", "page.xml", "page.md"} & set(arguments)
    written = _within(ran.events("file"), ran)
    temporary = {
        name for name in written if name.startswith(".") and name.endswith(".tmp")
    }  # renamed when whole
    assert written - temporary - made <= {".agent_eval/results"}
    assert {event.partition(" ")[0] for event in ran.events("process")} <= {"git"}


@pytest.mark.slow
def test_judges_are_sent_what_they_judge_and_no_key_is_kept(desk: Spied, model_server: ModelServer) -> None:
    model_server.always = '{"verdict": "valid"}'
    key = "sk-very-secret-key-of-mine"
    judged = {"threshold": 0.5, "judge_model_options": {"judge_model": "openai/judge", "num_samples": 1}}
    desk.write("endpoint.json", {"criteria": {"final_response_match_v2": judged}})
    secret = ("--header", f"Authorization: Bearer {key}")
    wanted = ("run", "bot", "orders.evalset.json", "--config", "endpoint.json")
    outcome = desk.agent_eval(*wanted, *secret, OPENAI_API_KEY=key)
    assert outcome.code == 0, outcome
    port = model_server.url.rpartition(":")[2].partition("/")[0]
    assert all(port in event or "127.0.0.1" in event for event in desk.events("net"))
    assert len(model_server.requests) == 1
    kept = [file for file in desk.root.glob(".agent_eval/**/*") if file.is_file()]
    assert {file.suffix for file in kept} >= {".json", ".jsonl", ".sqlite"}
    assert not [file for file in kept if key.encode() in file.read_bytes()]
    assert key not in outcome.stdout + outcome.stderr


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_schema_in_a_config_fetches_nothing(scheme: str, tmp_path: Path) -> None:
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # http.server's name
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_: Any) -> None:
            pass

    (tmp_path / "schema.json").write_text("{}")
    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        place = f"127.0.0.1:{server.server_port}" if scheme == "http" else str(tmp_path)
        validator = serde.schema_validator({"$ref": f"{scheme}://{place}/schema.json"})
        try:
            with pytest.raises(Exception, match="Unresolvable"):
                validator.is_valid({})
        finally:
            server.shutdown()
            thread.join()
    assert asked == []


def test_schema_that_refers_to_elsewhere_is_a_reason_and_no_crash(project: Project) -> None:
    criterion = {"threshold": 1, "json_schema": {"$ref": "http://127.0.0.1:9/schema.json"}}
    project.agent("def root_agent(message, session):\n    return '{}'\n")
    project.write("a.evalset.json", eval_set(case("a")))
    project.write("eval_config.json", {"criteria": {"response_json_schema_v1": criterion}})
    outcome = project.agent_eval("run", "bot", "a.evalset.json")
    assert outcome.code == 3
    (case_result,) = project.summary()["cases"]
    assert "Unresolvable" in case_result["metrics"][0]["reason"]
