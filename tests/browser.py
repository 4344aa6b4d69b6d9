"""A headless Chromium that shows pages of ours, driven over its DevTools protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from websockets.sync.client import ClientConnection, connect

from agent_eval import clock

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)
PATIENCE = 30.0


class Tab:
    """One tab."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0
        self.events: list[dict[str, Any]] = []
        """What the browser told while commands were waited for."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Runs a command."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=PATIENCE))
            if message.get("id") == self._number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self.events.append(message)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def open(self, page: Path, *, width: int = 1280, height: int = 900, fragment: str = "") -> None:
        """Shows a file, and waits until all its rows are there."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.send("Page.navigate", url=page.as_uri() + fragment)
        self.wait("document.documentElement?.dataset.ready === 'true'")

    def wait(self, condition: str) -> None:
        """Waits until something holds in the page."""
        end = clock.monotonic() + PATIENCE
        while not self.evaluate(condition):
            assert clock.monotonic() < end, condition
            self.evaluate("new Promise((go) => setTimeout(go, 20))")

    def text(self, selector: str = "body") -> str:
        """What a reader sees."""
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))

    def click(self, selector: str, number: int = 0) -> None:
        self.evaluate(f"document.querySelectorAll({json.dumps(selector)})[{number}].click()")

    def picture(self, file: Path) -> None:
        """The whole page as a PNG."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 8000), "scale": 1}
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(shot["data"]))

    def complaints(self) -> list[str]:
        """Errors of scripts, refusals by the page's policy, and requests for anything but the page itself."""
        told = []
        for event in self.events:
            method, parameters = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                told.append(str(parameters["exceptionDetails"]))
            elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                told.append(parameters["entry"]["text"])
            elif method == "Network.requestWillBeSent" and parameters.get("type") != "Document":
                told.append(f"requested {parameters['request']['url']}")
        return told


@contextmanager
def browsing() -> Iterator[Tab]:
    """A browser with one tab, ended afterwards."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [
                CHROMIUM,
                "--headless",
                "--no-sandbox",  # the sandbox does not work for root, as who CI is in a container
                "--disable-gpu",
                "--disable-background-networking",
                "--no-first-run",
                "--remote-debugging-port=0",
                f"--user-data-dir={folder}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            with connect(_address(Path(folder), process), max_size=None) as socket:
                yield Tab(socket)
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _address(folder: Path, process: subprocess.Popen[bytes]) -> str:
    """The tab's address, once the browser listens."""
    import httpx

    told, end = folder / "DevToolsActivePort", clock.monotonic() + PATIENCE
    while not (told.exists() and told.read_text().count("\n")):
        assert process.poll() is None, "the browser does not start"
        assert clock.monotonic() < end, "the browser does not listen"
        Event().wait(0.05)
    port = told.read_text().split()[0]
    tabs = httpx.get(f"http://127.0.0.1:{port}/json/list", trust_env=False).json()
    return str(next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page"))
