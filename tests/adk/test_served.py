"""Served agents: real `adk api_server` against the same agent in process, and servers that fail."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("google.adk")

from agent_eval import clock
from agent_eval.agents import factory
from agent_eval.options import Options
from agent_eval.pipeline import evaluate
from agent_eval.preparation import plan_evaluation
from agent_eval.schema.result import RunRecord
from tests.adk import MARKS
from tests.adk.support import answers, error
from tests.adk.test_parity import ROOT, environment, our_scores
from tests.cli_support import Project, case, eval_set

pytestmark = [*MARKS, pytest.mark.usefixtures("own_imports")]

CAREFUL = '''\
"""An agent whose tool asks before it runs, and one that raises."""

from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.function_tool import FunctionTool
from google.genai import types


class Careful(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        last = llm_request.contents[-1].parts[-1]
        tier = llm_request.config.system_instruction.partition("tier ")[2]
        if last.function_response:
            part = types.Part(text=last.function_response.response.get("result") or "It was not allowed.")
        elif last.text == "tier?":
            part = types.Part(text=f"Tier is {tier[:4]}")
        else:
            part = types.Part(function_call=types.FunctionCall(name=last.text, args={}))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def pay() -> str:
    """Pays."""
    return "paid"


def fail() -> str:
    """Raises."""
    raise LookupError("no such order")


root_agent = LlmAgent(
    name="careful",
    model=Careful(model="any"),
    instruction="tier {tier?}",
    tools=[FunctionTool(pay, require_confirmation=True), fail],
)
'''


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real API server with two of the samples, and an agent that asks."""
    agents = tmp_path_factory.mktemp("served")
    for name in ("adk_weather_desk", "adk_support_desk"):
        shutil.copytree(ROOT / "sample_agents" / name, agents / name)
    (agents / "careful").mkdir()
    (agents / "careful" / "__init__.py").write_text("from . import agent\n")
    (agents / "careful" / "agent.py").write_text(CAREFUL)
    port = free_port()
    log = (agents / "server.log").open("wb")
    server = subprocess.Popen(
        [sys.executable, "-m", "google.adk.cli", "api_server", "--port", str(port), str(agents)],
        cwd=agents,
        env=environment(),
        stdout=log,
        stderr=log,
    )
    try:
        wait_for(server, f"http://127.0.0.1:{port}/list-apps")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)
        log.close()


def wait_for(server: subprocess.Popen[bytes], address: str) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5):
            return
        assert server.poll() is None, "the server ended"
        threading.Event().wait(0.1)
    raise AssertionError("the server does not answer")


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(project.root)
    project.write("eval_config.json", {"criteria": {"response_match_score": 1.0}})
    return project


def run(project: Project, *cases: dict[str, Any], **options: Any) -> list[RunRecord]:
    """Runs these cases in this process; one record a case."""
    project.write("set.json", eval_set(*cases))
    asyncio.run(evaluate(plan_evaluation(Options(eval_sets=("set.json",), **options))))
    return project.records()


# The real server


@pytest.mark.parametrize("name", ["weather_desk", "support_desk"])
def test_served_agent_gives_what_it_gives_in_process(served: str, name: str, here: Project) -> None:
    folder = ROOT / "sample_agents" / f"adk_{name}"
    sets = tuple(str(folder / f"{name}{suffix}.evalset.json") for suffix in ("", "_failing"))
    for output, target in (
        ("remote", {"url": served, "app_name": folder.name}),
        ("local", {"agent": str(folder)}),
    ):
        asyncio.run(evaluate(plan_evaluation(Options(eval_sets=sets, output=output, num_runs=1, **target))))

    assert our_scores(here.root / "remote") == our_scores(here.root / "local")


def test_app_is_the_one_that_the_case_names(served: str, here: Project) -> None:
    given = {"app_name": "careful", "user_id": "ü 1", "state": {"tier": "gold"}}
    (record,) = run(here, case("a", "tier?", answer="Tier is gold", session_input=given), url=served)

    assert answers(record) == ["Tier is gold"]
    assert record.session
    assert record.session.state == {"tier": "gold"}
    assert (record.session.user_id, record.session.app_name) == ("ü 1", "careful")


def test_pinned_session_starts_empty_each_run(served: str, here: Project) -> None:
    given = {"app_name": "careful", "user_id": "u1", "session_id": "pinned", "state": {"tier": "gold"}}
    for _ in range(2):
        (record,) = run(here, case("a", "tier?", session_input=given), url=served)
        assert answers(record) == ["Tier is gold"]


def test_exception_of_a_served_agent_crashes_the_run(served: str, here: Project) -> None:
    (record,) = run(here, case("a", "fail"), url=served, app_name="careful")

    kind, message = error(record)
    assert kind == "ServerError"
    assert "no such order" in message


def test_app_that_is_not_served_crashes_the_run(served: str, here: Project) -> None:
    (record,) = run(here, case("a", "hi"), url=served, app_name="no_such_app")

    kind, message = error(record)
    assert kind == "ServerError"
    assert "no_such_app" in message


CONFIRMATIONS = {"approve": ("paid", None), "deny": ("It was not allowed.", None), "fail": (None, "`pay`")}


@pytest.mark.parametrize("rule", CONFIRMATIONS)
def test_tool_of_a_served_agent_that_asks_is_answered(served: str, rule: str, here: Project) -> None:
    here.write("eval_config.json", {"criteria": {"response_match_score": 1.0}, "tool_confirmation": rule})
    (record,) = run(here, case("a", "pay"), url=served, app_name="careful")

    said, crash = CONFIRMATIONS[rule]
    if said:
        assert answers(record) == [said]
    else:
        kind, message = error(record)
        assert kind == "ToolConfirmationError"
        assert str(crash) in message


def test_tools_of_a_served_agent_cannot_be_mocked_which_is_told(served: str, here: Project) -> None:
    mocks = {"mocks": [{"tool": "fail", "response": "fine"}]}
    here.write("eval_config.json", {"criteria": {"response_match_score": 1.0}, "tool_mocks": mocks})
    (record,) = run(here, case("a", "fail"), url=served, app_name="careful")

    kind, message = error(record)
    assert kind == "ServerError"
    assert "tool_mocks" in message


# Servers that fail


class Fake(ThreadingHTTPServer):
    """A server that answers as it is told, and remembers what it was asked."""

    daemon_threads = True

    def __init__(
        self,
        sse: bytes = b"",
        status: int = 200,
        delay: float = 0.0,
        apps: bytes = b'["bot"]',
        hangs: threading.Event | None = None,
    ) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.sse, self.status, self.delay, self.apps = sse, status, delay, apps
        self.hangs = hangs
        """Once a run was made, requests to remove a session wait for this."""
        self.headers: list[Any] = []
        self.paths: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Fake

    def log_message(self, *arguments: Any) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        self._send(self.server.apps if self.path == "/list-apps" else b'{"state": {}}')

    def do_DELETE(self) -> None:
        if self.server.hangs and "/run_sse" in self.server.paths:
            self.server.hangs.wait(20)
        self._send(b"null")

    def do_POST(self) -> None:
        self.server.headers.append(self.headers)
        self.server.paths.append(self.path)
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/run_sse":
            self._send(b"{}")
        elif self.server.status != 200:
            self._send(b"something is wrong here", self.server.status)
        else:
            threading.Event().wait(self.server.delay)
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            body, whole = self.server.sse, not self.server.sse.endswith(b"#broken")
            for chunk in (body.removesuffix(b"#broken"), *([b""] if whole else [])):
                if chunk or whole:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.close_connection = True

    def _send(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def fake(*arguments: Any, **keys: Any) -> Iterator[Fake]:
    with Fake(*arguments, **keys) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def event(**keys: Any) -> bytes:
    return b"data: %s\n\n" % json.dumps({"author": "bot", "invocationId": "i1", **keys}).encode()


def saying(text: str, **keys: Any) -> bytes:
    return event(content={"role": "model", "parts": [{"text": text}]}, **keys)


CALL = event(content={"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "pay", "args": {}}}]})

FAILURES = {
    "not found": ({"status": 404}, "ServerError", "POST /run_sse: 404 something is wrong here"),
    "server error": ({"status": 500}, "ServerError", "POST /run_sse: 500 something is wrong here"),
    "stream breaks off": (
        {"sse": saying("It", partial=True) + b"#broken"},
        "ServerError",
        "RemoteProtocolError",
    ),
    "stream ends after a call": ({"sse": CALL}, "ServerError", "broke off"),
    "stream ends after a piece": ({"sse": saying("It", partial=True)}, "ServerError", "broke off"),
    "error of the server": (
        {"sse": saying("It") + b'data: {"error": "LookupError: no such order"}\n\n'},
        "ServerError",
        "no such order",
    ),
    "error of the model": (
        {"sse": event(errorCode="SAFETY", errorMessage="Blocked.")},
        "AdkModelError",
        "SAFETY: Blocked.",
    ),
    "error without a code": (
        {"sse": event(errorMessage="The expert is not there.")},
        "AdkModelError",
        "The expert is not there.",
    ),
    "no event": ({"sse": b"data: <html>\n\n"}, "ServerError", "the server sent no event: <html>"),
    "event cut short": (
        {"sse": b'data: {"author": "bot", "cont\n\n'},
        "ServerError",
        "the server sent no event",
    ),
    "no ADK server": (
        {"apps": b"<html>Welcome</html>"},
        "ServerError",
        "/list-apps: the server sent no JSON: <html>Welcome",
    ),
    "slow": ({"delay": 3.0}, "RunTimeoutError", "took longer than 0.5 s"),
}


@pytest.mark.parametrize(("behaviour", "kind", "message"), FAILURES.values(), ids=FAILURES.keys())
def test_server_that_fails_crashes_the_run(
    behaviour: dict[str, Any], kind: str, message: str, here: Project
) -> None:
    with fake(**behaviour) as server:
        (record,) = run(here, case("a", "hi"), url=server.url, timeout=0.5 if "delay" in behaviour else 20.0)

    assert error(record)[0] == kind
    assert message in error(record)[1]


def test_server_that_does_not_let_a_session_go_costs_no_result(
    here: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(factory, "CLOSE_SECONDS", 0.2)
    began = clock.monotonic()
    with fake(saying("hi"), hangs=threading.Event()) as server:
        (record,) = run(here, case("a", "hi"), url=server.url)
        assert clock.monotonic() - began < 15
        assert server.hangs
        server.hangs.set()

    assert answers(record) == ["hi"]


def test_what_was_said_before_the_stream_broke_off_is_kept(here: Project) -> None:
    with fake(saying("It has") + CALL + b"#broken") as server:
        (record,) = run(here, case("a", "hi"), url=server.url)

    data = record.invocations[0].intermediate_data
    assert data
    assert [call.name for call in data.tool_uses] == ["pay"]


def test_what_went_wrong_in_a_turn_that_went_on_is_told(here: Project) -> None:
    answered = {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "pay", "response": {}}}]}
    stream = (
        CALL
        + event(content=answered)
        + event(errorCode="UNAVAILABLE", errorMessage="Overloaded.")
        + saying("It has", finishReason="MAX_TOKENS", interrupted=True)
    )
    with fake(stream) as server:
        (record,) = run(here, case("a", "hi"), url=server.url)

    assert answers(record) == ["It has"]
    assert [(one.author, one.told, one.step) for one in record.invocations[0].incidents or ()] == [
        ("bot", "UNAVAILABLE: Overloaded.", 2),
        ("bot", "MAX_TOKENS", 2),
        ("bot", "INTERRUPTED", 2),
    ]


def test_nobody_listens(here: Project) -> None:
    (record,) = run(here, case("a", "hi"), url=f"http://127.0.0.1:{free_port()}", app_name="bot")

    assert error(record)[0] == "ServerError"
    assert "ConnectError" in error(record)[1]


def test_only_app_of_the_server_is_taken_where_the_case_names_another(here: Project) -> None:
    with fake(saying("hi")) as server:
        (record,) = run(here, case("a", "hi"), url=server.url)

    assert answers(record) == ["hi"]
    assert server.paths[0].startswith("/apps/bot/users/test_user_id/sessions/")


def test_header_is_sent_and_is_in_no_file(here: Project) -> None:
    here.write("set.json", eval_set(case("a", "hi"), case("b", "no")))
    with fake(saying("hi")) as server:
        done = here.agent_eval(
            "run",
            "--url",
            server.url,
            "set.json",
            "--header",
            "Authorization: Bearer s3cr3t",
            "--header=X-Key:s3cr3t",
        )

    assert done.code == 1
    assert {(one["Authorization"], one["X-Key"]) for one in server.headers} == {("Bearer s3cr3t", "s3cr3t")}
    assert "s3cr3t" not in done.stdout + done.stderr
    files = [path for path in here.root.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert [path for path in files if b"s3cr3t" in path.read_bytes()] == []


def test_password_in_the_address_is_sent_and_is_in_no_file(here: Project) -> None:
    here.write("set.json", eval_set(case("a", "hi"), case("b", "no")))
    with fake(saying("hi")) as server:
        address = server.url.replace("://", "://me:s3cr3t@")
        done = here.agent_eval("run", "--url", address, "set.json")
        gone = here.agent_eval("run", "--url", address + "/elsewhere", "set.json", "--no_circuit_breaker")

    assert (done.code, gone.code) == (1, 1), done.stderr
    assert server.headers[0]["Authorization"].startswith("Basic ")
    assert "s3cr3t" not in done.stdout + done.stderr + gone.stdout + gone.stderr
    files = [path for path in here.root.rglob("*") if path.is_file()]
    assert [path for path in files if b"s3cr3t" in path.read_bytes()] == []


def test_crashes_of_all_first_runs_stop_the_evaluation(here: Project) -> None:
    here.write("set.json", eval_set(*(case(f"case{number}", "hi") for number in range(20))))

    done = here.agent_eval("run", "--url", f"http://127.0.0.1:{free_port()}", "--app_name", "bot", "set.json")

    assert done.code == 3
    assert "ConnectError" in done.stdout
    assert len(here.records()) < 20


def test_server_that_forgets_the_events_of_a_session_is_not_talked_to(here: Project) -> None:
    events = [{"author": "user", "content": {"parts": [{"text": "hello"}]}}]
    given = {"app_name": "bot", "user_id": "u", "events": events}
    with fake(saying("hi")) as server:
        (record,) = run(here, case("a", "hi", session_input=given), url=server.url)

    kind, message = error(record)
    assert kind == "ServerError"
    assert "the server did not take the events of `session_input`" in message
    assert record.invocations == []
