"""A real HTTP server that speaks the Gemini and the OpenAI chat API, and says what a test tells it to.

    def test_quota(model_server):                       # the fixture sets the environment of the clients
        model_server.answers(failing(429, retry_after=0.1), {"verdict": "valid"})
        ...
        assert [asked.model for asked in model_server.requests] == ["gemini-2.5-flash"] * 2

Processes that a test starts inherit that environment. An answer is a text, a value (sent as JSON text),
what `said`, `cut_off`, `blocked`, `empty`, `failing`, `malformed` and `slow` make, or a function of the
request that gives one of these. `answers` are given once each, in order; after them, or without them,
`always` is. Preflight checks are answered apart (`preflight`) and recorded apart (`preflights`).
"""

from __future__ import annotations

import base64
import dataclasses
import json
import re
import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

from agent_eval import clock

KEY = "test-key-0123456789abcdef"
"""The API key that clients are given."""

PREFLIGHT = "Reply with the word OK."
"""What a preflight check asks."""


@dataclass(frozen=True)
class Asked:
    """One request that the server got."""

    api: str
    """`gemini` or `openai`."""
    model: str
    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    """Names in lower case."""

    @property
    def system(self) -> str:
        """The system instruction, empty if there is none."""
        if self.api == "gemini":
            return _gemini_text(self.body.get("systemInstruction") or {})
        return "\n".join(_chat_text(m) for m in self.body["messages"] if m["role"] == "system")

    @property
    def turns(self) -> list[tuple[str, str]]:
        """Role (`user` or `model`) and text of each message but the system instruction."""
        if self.api == "gemini":
            return [(one.get("role", "user"), _gemini_text(one)) for one in self.body["contents"]]
        return [
            ("model" if message["role"] == "assistant" else message["role"], _chat_text(message))
            for message in self.body["messages"]
            if message["role"] != "system"
        ]

    @property
    def prompt(self) -> str:
        """The text of all messages but the system instruction."""
        return "\n".join(text for _, text in self.turns)

    @property
    def schema(self) -> Any:
        """The JSON Schema of the answer, None if none was asked for."""
        if self.api == "gemini":
            config = self.body.get("generationConfig") or {}
            return config.get("responseJsonSchema") or config.get("responseSchema")
        form = self.body.get("response_format") or {}
        return (form.get("json_schema") or form).get("schema")

    @property
    def media(self) -> list[str]:
        """MIME types of what is not text; of OpenAI's image URLs without data, the URL."""
        if self.api == "gemini":
            found = [
                part.get("inlineData") or part.get("fileData")
                for content in self.body["contents"]
                for part in content.get("parts", [])
            ]  # below them, versions of the SDK spell differently
            return [medium.get("mimeType") or medium.get("mime_type", "") for medium in found if medium]
        return [
            medium
            for message in self.body["messages"]
            if isinstance(message["content"], list)
            for part in message["content"]
            if (medium := _chat_medium(part))
        ]

    @property
    def settings(self) -> dict[str, Any]:
        """Generation settings under the names of the API."""
        if self.api == "gemini":
            return dict(self.body.get("generationConfig") or {})
        return {key: value for key, value in self.body.items() if key not in ("model", "messages")}


def _gemini_text(content: dict[str, Any]) -> str:
    return "\n".join(part["text"] for part in content.get("parts", []) if "text" in part)


def _chat_text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def _chat_medium(part: dict[str, Any]) -> str | None:
    if part["type"] == "image_url":
        url: str = part["image_url"]["url"]
        return url.removeprefix("data:").partition(";")[0] if url.startswith("data:") else url
    if part["type"] == "input_audio":
        base64.b64decode(part["input_audio"]["data"], validate=True)
        return f"audio/{part['input_audio']['format']}"
    if part["type"] == "file":
        return str(part["file"]["file_data"]).removeprefix("data:").partition(";")[0]
    return None


@dataclass(frozen=True)
class Answer:
    """What the server sends; made by the functions below."""

    text: str | None = ""
    """None: a candidate without content."""
    thoughts: str | None = None
    finish: str = "STOP"
    """A finish reason of Gemini's."""
    blocked_prompt: bool = False
    has_candidates: bool = True
    input_tokens: int = 10
    output_tokens: int = 5
    thought_tokens: int = 0
    status: int = 200
    message: str = ""
    reason: str | None = None
    """A machine-readable reason of an error."""
    retry_after: float | None = None
    raw: bytes | None = None
    """Sent instead of all that."""
    wait: float = 0.0
    """Seconds before it is sent."""

    @classmethod
    def document(cls, value: Any, status: int = 200) -> Answer:
        """Any JSON document as the whole response."""
        return cls(status=status, raw=json.dumps(value).encode())


Scripted = Any
"""A text, a JSON value, an `Answer`, or a function of `Asked` that gives one of these."""


def said(text: Scripted, *, thoughts: str | None = None, **fields: Any) -> Answer:
    """A good answer, with thoughts before it perhaps."""
    fields = {"thoughts": thoughts, "thought_tokens": 7 if thoughts else 0} | fields
    return Answer(text if isinstance(text, str) else json.dumps(text), **fields)


def cut_off(text: str) -> Answer:
    """An answer that ran into the limit of output tokens."""
    return Answer(text, finish="MAX_TOKENS")


def blocked(*, prompt: bool = False) -> Answer:
    """What a safety filter leaves: of the answer, or of the prompt."""
    return Answer(None, finish="SAFETY", blocked_prompt=prompt, has_candidates=not prompt)


def empty(*, candidates: bool = True) -> Answer:
    """An answer without a word, or without a candidate even."""
    return Answer(None, has_candidates=candidates)


def failing(
    status: int, message: str = "no", *, retry_after: float | None = None, reason: str | None = None
) -> Answer:
    """An error; `retry_after` (seconds) is Gemini's RetryInfo and OpenAI's header."""
    return Answer(status=status, message=message, retry_after=retry_after, reason=reason)


def malformed() -> Answer:
    """A response with status 200 that is no JSON document."""
    return Answer(raw=b'{"candidates": [{"content": ')


def slow(seconds: float, answer: Scripted = "late") -> Answer:
    """An answer that takes its time."""
    return dataclasses.replace(_as_answer(answer), wait=seconds)


def _as_answer(given: Scripted) -> Answer:
    return given if isinstance(given, Answer) else said(given)


@dataclass
class ModelServer:
    """The server as a test sees it."""

    url: str
    always: Scripted = "OK"
    """Said when nothing else is scripted."""
    preflight: Scripted = "OK"
    """Said to preflight checks."""
    requests: list[Asked] = field(default_factory=list)
    """In the order they came, without preflight checks."""
    preflights: list[Asked] = field(default_factory=list)
    models: list[str] | None = None
    """The only models there are; without it there is any."""
    peak: int = 0
    """The most requests that were under way at once."""
    moments: list[float] = field(default_factory=list)
    """When each of `requests` came, in seconds of a clock that only runs forward."""
    _script: deque[Scripted] = field(default_factory=deque)
    _open: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopping: threading.Event = field(default_factory=threading.Event)

    def answers(self, *answers: Scripted) -> None:
        """What the next requests get, one each."""
        self._script.extend(answers)

    @property
    def gaps(self) -> list[float]:
        """Seconds between each of `requests` and the next."""
        return [after - before for before, after in pairwise(self.moments)]

    @property
    def environment(self) -> dict[str, str]:
        """What clients need in their environment; the rest of `NEUTRAL` must not be there."""
        return {
            "GOOGLE_GEMINI_BASE_URL": self.url,
            "GEMINI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_API_KEY": KEY,
        }

    def take(self, asked: Asked) -> Answer:
        """Records a request and gives its answer."""
        is_preflight = asked.prompt == PREFLIGHT
        with self._lock:
            if is_preflight:
                self.preflights.append(asked)
            else:
                self.requests.append(asked)
                self.moments.append(clock.monotonic())
            given = self._given(asked, is_preflight)
            self._open += 1
            self.peak = max(self.peak, self._open)
        try:
            answer = _as_answer(given(asked) if callable(given) else given)
            self._stopping.wait(answer.wait)
            return answer
        finally:
            with self._lock:
                self._open -= 1

    def _given(self, asked: Asked, is_preflight: bool) -> Scripted:
        if self.models is not None and asked.model not in self.models:
            return failing(404, f"there is no model {asked.model}")
        if is_preflight:
            return self.preflight
        return self._script.popleft() if self._script else self.always


NEUTRAL = (
    "GOOGLE_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_VERTEX_BASE_URL",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_GENAI_USE_ENTERPRISE",
    "GOOGLE_GENAI_API_VERSION",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT_ID",
)
"""Variables that would lead clients elsewhere."""


@contextmanager
def serving() -> Iterator[ModelServer]:
    """A server on a free port of the loopback interface; all its threads have ended afterwards."""
    server = _Server(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.model
    finally:
        server.stop()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.model = ModelServer(f"http://127.0.0.1:{self.server_address[1]}")
        self._connections: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may hang up."""

    def stop(self) -> None:
        """Ends kept-alive connections too, so that their threads end."""
        self.model._stopping.set()
        self.shutdown()
        for connection in list(self._connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it ended by itself
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *arguments: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        if not re.fullmatch(r"/v1\w*/models", self.path.partition("?")[0]):
            self._send(404, _json({"error": {"message": f"nothing at {self.path}"}}))
            return
        models = self.server.model.models or []
        openai = [{"id": model, "object": "model", "created": 0, "owned_by": "test"} for model in models]
        gemini = [{"name": f"models/{model}"} for model in models]
        self._send(200, _json({"object": "list", "data": openai, "models": gemini}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        path = self.path.partition("?")[0]
        gemini = re.fullmatch(r"/v1\w*/(?P<model>.+):(?P<stream>streamG|g)enerateContent", path)
        if not gemini and path != "/v1/chat/completions":
            self._send(404, _json({"error": {"message": f"nothing at {path}"}}))
            return
        asked = Asked(
            api="gemini" if gemini else "openai",
            model=gemini["model"].removeprefix("models/") if gemini else body.get("model", ""),
            path=self.path,
            body=body,
            headers={name.lower(): value for name, value in self.headers.items()},
        )
        answer = self.server.model.take(asked)
        headers = {"Retry-After": f"{answer.retry_after:g}"} if answer.retry_after is not None else {}
        if answer.raw is not None:
            is_page = answer.raw.startswith(b"<")
            self._send(answer.status, answer.raw, {"Content-Type": "text/html"} if is_page else {})
        elif answer.status != 200:
            error = _gemini_error(answer) if gemini else _chat_error(answer)
            self._send(answer.status, _json(error), {} if gemini else headers)
        elif gemini:
            self._send_document(_gemini_response(asked, answer), stream=gemini["stream"] == "streamG")
        elif body.get("stream"):
            self._send_document(_chat_chunk(asked, answer), stream=True, end=b"data: [DONE]\r\n\r\n")
        else:
            self._send(200, _json(_chat_response(asked, answer)))

    def _send_document(self, document: dict[str, Any], *, stream: bool, end: bytes = b"") -> None:
        if stream:
            body = b"data: " + _json(document) + b"\r\n\r\n" + end
            self._send(200, body, {"Content-Type": "text/event-stream"})
        else:
            self._send(200, _json(document))

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in ({"Content-Type": "application/json"} | (headers or {})).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _json(document: Any) -> bytes:
    return json.dumps(document).encode()


_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def _gemini_error(answer: Answer) -> dict[str, Any]:
    details: list[dict[str, Any]] = []
    if answer.reason:
        details.append({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": answer.reason})
    if answer.retry_after is not None:
        retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{answer.retry_after}s"}
        details.append(retry)
    error: dict[str, Any] = {
        "code": answer.status,
        "message": answer.message,
        "status": _STATUS.get(answer.status, "UNKNOWN"),
    }
    return {"error": error | ({"details": details} if details else {})}


def _chat_error(answer: Answer) -> dict[str, Any]:
    kind = "invalid_request_error" if answer.status < 500 else "server_error"
    return {"error": {"message": answer.message, "type": kind, "param": None, "code": answer.reason}}


def _gemini_response(asked: Asked, answer: Answer) -> dict[str, Any]:
    usage = {
        "promptTokenCount": answer.input_tokens,
        "candidatesTokenCount": answer.output_tokens,
        "totalTokenCount": answer.input_tokens + answer.output_tokens + answer.thought_tokens,
    }
    if answer.thought_tokens:
        usage["thoughtsTokenCount"] = answer.thought_tokens
    response: dict[str, Any] = {"usageMetadata": usage, "modelVersion": asked.model, "responseId": "r"}
    if answer.blocked_prompt:
        response["promptFeedback"] = {"blockReason": answer.finish}
    if not answer.has_candidates:
        return response
    parts = [{"text": answer.thoughts, "thought": True}] if answer.thoughts else []
    parts += [{"text": answer.text}] if answer.text is not None else []
    candidate: dict[str, Any] = {"finishReason": answer.finish, "index": 0}
    if parts:
        candidate["content"] = {"role": "model", "parts": parts}
    return response | {"candidates": [candidate]}


_CHAT_FINISH = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter"}


def _chat_response(asked: Asked, answer: Answer) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer.text}
    if answer.thoughts:
        message["reasoning_content"] = answer.thoughts
    choice = {"index": 0, "message": message, "finish_reason": _CHAT_FINISH[answer.finish]}
    output = answer.output_tokens + answer.thought_tokens
    return {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": 0,
        "model": asked.model,
        "choices": [choice] if answer.has_candidates else [],
        "usage": {
            "prompt_tokens": answer.input_tokens,
            "completion_tokens": output,
            "total_tokens": answer.input_tokens + output,
        },
    }


def _chat_chunk(asked: Asked, answer: Answer) -> dict[str, Any]:
    """The whole answer as one streamed chunk."""
    document = _chat_response(asked, answer)
    choices = [
        {"index": 0, "delta": choice["message"], "finish_reason": choice["finish_reason"]}
        for choice in document["choices"]
    ]
    return document | {"object": "chat.completion.chunk", "choices": choices}
