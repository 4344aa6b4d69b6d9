"""Renews the pictures in docs/pictures: pages and terminals as they look, from real runs of the samples.

    python docs/pictures.py

The pages are shown by headless Chromium, the terminals drawn by rich from what commands print in colour.
"""

from __future__ import annotations

import base64
import io
import re
import subprocess
import sys
from pathlib import Path

from capture import ORDERS, project
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from tests.browser import Tab, browsing

PICTURES = Path(__file__).with_name("pictures")
WIDTH = 1180
LOCAL_FONTS = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
"""Nothing is fetched from elsewhere: without Fira Code, the reader's own monospaced font is used."""

SETS = ["evalsets/order_desk.evalset.json", "evalsets/home_automation.evalset.json"]


def terminal(folder: Path, environment: dict[str, str], command: str, name: str) -> None:
    """Runs a command, and draws what it prints on standard output."""
    coloured = environment | {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": "80"}
    words = [sys.executable, "-m", "agent_eval", *command.split()[1:]]
    done = subprocess.run(
        words, cwd=folder, env=coloured, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    console = Console(record=True, width=80, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(f"$ {command}\n\n{done.stdout.decode().strip()}\n "))
    svg = console.export_svg(title="agent-eval", code_format=LOCAL_FONTS, unique_id=name)
    (PICTURES / f"{name}.svg").write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n")


def page(
    tab: Tab, file: Path, name: str, *, scheme: str = "light", height: int = 880, fragment: str = ""
) -> None:
    """Shows a page, and keeps what is in the window."""
    tab.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    tab.open(file, width=WIDTH, height=height, fragment=fragment)
    shot = tab.send("Page.captureScreenshot", format="png")
    (PICTURES / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


def draw() -> None:
    """All pictures."""
    PICTURES.mkdir(exist_ok=True)
    with project({}) as (folder, environment), browsing() as tab:

        def run(*words: str) -> None:
            command = [sys.executable, "-m", "agent_eval", *words]
            subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True)

        run("run", ORDERS, "--num-runs", "1")
        terminal(folder, environment, f"agent-eval run {ORDERS} --html orders.html", "run")
        terminal(folder, environment, "agent-eval explain latest", "explain")
        run("compare", "previous", "latest", "--html", "comparison.html")
        run("run", ORDERS, *SETS, "--html", "result.html")
        page(tab, folder / "result.html", "result_light")
        page(
            tab,
            folder / "orders.html",
            "result_dark",
            scheme="dark",
            height=1240,
            fragment="#case=where_is_a1",
        )
        page(tab, folder / "comparison.html", "comparison", height=680)


if __name__ == "__main__":
    draw()
