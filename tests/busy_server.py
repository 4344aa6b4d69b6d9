"""An ADK API server of this machine that is busy: it refuses turns as a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Refuses = Callable[[int, int], bool]
"""Whether a turn is refused: by its number, from 1, and by how many are under way with it."""


class BusyServer(ThreadingHTTPServer):
    """Echoes what it is told, and answers 429 where it refuses."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, refuses: Refuses, seconds: float, retry_after: float | None, reports: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.refuses, self.seconds, self.retry_after, self.reports = refuses, seconds, retry_after, reports
        self.lock = threading.Lock()
        self.asked = self.refused = self.under_way = 0

    @property
    def place(self) -> str:
        """As it is called in what is told of it."""
        return f"127.0.0.1:{self.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.place}"


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: BusyServer

    def log_message(self, *arguments: Any) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        self._send(b'["bot"]' if self.path == "/list-apps" else b'{"state": {}}')

    def do_DELETE(self) -> None:
        self._send(b"null")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/run_sse":
            self._send(b"{}")
            return
        server = self.server
        with server.lock:
            server.asked += 1
            server.under_way += 1
            is_refused = server.refuses(server.asked, server.under_way)
            server.refused += is_refused
        try:
            self._take_turn(json.loads(body)["new_message"]["parts"][0]["text"], is_refused)
        finally:
            with server.lock:
                server.under_way -= 1

    def _take_turn(self, text: str, is_refused: bool) -> None:
        if is_refused and not self.server.reports:
            self._send(b"busy", 429)
            return
        if not is_refused:
            threading.Event().wait(self.server.seconds)
        event = {
            "author": "bot",
            "invocationId": "i",
            "content": {"role": "model", "parts": [{"text": text}]},
        }
        told = {"error": "ClientError: 429 RESOURCE_EXHAUSTED. {'error': {}}"} if is_refused else event
        self._send(b"data: %s\n\n" % json.dumps(told).encode())

    def _send(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        if status == 429 and self.server.retry_after is not None:
            self.send_header("Retry-After", str(self.server.retry_after))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def busy(
    refuses: Refuses, *, seconds: float = 0.0, retry_after: float | None = 0.05, reports: bool = False
) -> Iterator[BusyServer]:
    """A server that is there meanwhile.

    Args:
        refuses: which turns.
        seconds: how long the others take.
        retry_after: what it asks for.
        reports: it takes each turn, and reports the error of a model behind it.
    """
    with BusyServer(refuses, seconds, retry_after, reports) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
