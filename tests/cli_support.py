"""A project in a folder of its own, and `agent-eval` run in it as the real process that users run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_eval.schema.result import RunRecord
from agent_eval.store.journal import SUFFIX, read_journal

ECHO = "def root_agent(message, session):\n    return message.text\n"
"""An agent that repeats what it is told."""

RESPONSES = {"criteria": {"response_match_score": 0.8}}
"""A config that looks at answers only."""

RESULTS = ".agent_eval/results"

_COLOUR = {"FORCE_COLOR", "NO_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "TERMINAL_WIDTH"}


@dataclass(frozen=True)
class Outcome:
    """What a process left behind."""

    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> Any:
        """Standard output as the one JSON document that it has to be."""
        return json.loads(self.stdout)


class Project:
    """A folder with agents, eval sets and configs."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, content: str | dict[str, Any] | list[Any]) -> Path:
        """A file with a text (its common indentation removed) or a JSON document."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = textwrap.dedent(content) if isinstance(content, str) else json.dumps(content)
        file.write_text(text, encoding="utf-8")
        return file

    def agent(self, source: str = ECHO, path: str = "bot") -> None:
        """An agent package."""
        self.write(f"{path}/__init__.py", "")
        self.write(f"{path}/agent.py", source)

    def command(self, *arguments: str) -> list[str]:
        """The command line of a process; the project is its folder."""
        return [sys.executable, "-m", "agent_eval", *arguments]

    def environment(self, **variables: str) -> dict[str, str]:
        """A pipe of 80 columns; like the console script, Python does not look for modules in the folder."""
        inherited = {name: value for name, value in os.environ.items() if name not in _COLOUR}
        fixed = {"COLUMNS": "80", "PYTHONIOENCODING": "utf-8", "PYTHONSAFEPATH": "1"}
        return inherited | fixed | variables

    def agent_eval(self, *arguments: str, cwd: str = ".", **variables: str) -> Outcome:
        """Runs `agent-eval` to its end."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.root / cwd,
            env=self.environment(**variables),
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    @contextmanager
    def running(
        self, *arguments: str, command: Sequence[str] | None = None
    ) -> Iterator[subprocess.Popen[str]]:
        """`agent-eval` as it runs, or another command; killed at the end if it still does."""
        with subprocess.Popen(
            command or self.command(*arguments),
            cwd=self.root,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(
                signal.SIGINT, signal.SIG_DFL
            ),  # a suite in the background has none
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def wait_for(self, path: str, process: subprocess.Popen[str]) -> None:
        """Waits until there is a file; the process must not end before."""
        while not (self.root / path).exists():
            assert process.poll() is None, process.communicate()
            threading.Event().wait(0.02)

    def results(self, folder: str = RESULTS) -> list[Path]:
        """The summary files, oldest first."""
        return sorted((self.root / folder).glob("*/*.json"), key=lambda file: file.name)

    def summary(self, folder: str = RESULTS) -> dict[str, Any]:
        """The newest summary."""
        document: dict[str, Any] = json.loads(self.results(folder)[-1].read_bytes())
        return document

    def case(self, eval_id: str) -> dict[str, Any]:
        """A case of the newest summary, its metrics by name."""
        (case,) = (case for case in self.summary()["cases"] if case["eval_id"] == eval_id)
        return {**case, "metrics": {metric["metric_name"]: metric for metric in case["metrics"]}}

    def records(self, folder: str = RESULTS) -> list[RunRecord]:
        """The newest journal, in the order of case and run."""
        journal = max((self.root / folder).glob(f"*/*{SUFFIX}"), key=lambda file: file.name)
        return sorted(read_journal(journal), key=lambda record: (record.eval_id, record.run_index))


def eval_set(*cases: dict[str, Any], eval_set_id: str = "demo") -> dict[str, Any]:
    """An eval set document."""
    return {"eval_set_id": eval_set_id, "eval_cases": list(cases)}


def case(eval_id: str, *asks: str, answer: str | None = None, **keys: Any) -> dict[str, Any]:
    """A case with a turn for each text; the agent is to repeat it unless an answer is given."""
    turns = [
        {"user_content": {"parts": [{"text": ask}]}, "final_response": {"parts": [{"text": answer or ask}]}}
        for ask in asks or ("hi",)
    ]
    return {"eval_id": eval_id, "conversation": turns, **keys}


def custom(*names: str, module: str = "gates", threshold: float = 0.5, **criteria: float) -> dict[str, Any]:
    """A config with metrics of one's own, after the criteria given by name."""
    return {
        "criteria": criteria | dict.fromkeys(names, threshold),
        "custom_metrics": {name: {"code_config": {"name": f"{module}.{name}"}} for name in names},
    }


def decided(summary: dict[str, Any]) -> list[Any]:
    """What a summary says of its cases, without the times."""

    def without_times(node: Any) -> Any:
        if isinstance(node, dict):
            if node.get("metric_name") == "invocation_duration_v1":
                return None
            return {key: without_times(value) for key, value in node.items() if key != "seconds"}
        return [without_times(item) for item in node] if isinstance(node, list) else node

    cases = without_times(summary["cases"])
    assert isinstance(cases, list)
    return cases
