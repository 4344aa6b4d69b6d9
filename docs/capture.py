"""Renews the captures in docs/*.md: what commands print on a terminal of 80 columns, in real runs of samples.

    python docs/capture.py

Times and ids, which differ from run to run, are replaced by fixed ones.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.model_server import NEUTRAL, Asked, serving  # noqa: E402 # the tests are found by then

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WIDTH = 80
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".adk")

UNSET = {*NEUTRAL, "COLUMNS", "FORCE_COLOR", "NO_COLOR", "GITHUB_ACTIONS", "GITLAB_CI", "GITHUB_STEP_SUMMARY"}

PROJECT = '[tool.agent-eval]\nagents = ["sample_agents"]\nevalsets = "evalsets"\n'

CRASHING = '''\
def root_agent(message, session):
    """Looks up orders in a file that is not there."""
    with open("orders.csv") as orders:
        return orders.read()
'''

TYPO = """\
{
  "eval_set_id": "typo",
  "eval_cases": [
    {
      "eval_id": "cancel",
      "conversation": [
        {
          "user_content": {"role": "user", "parts": [{"text": "Cancel order A1."}]},
          "final_respose": {"role": "model", "parts": [{"text": "Order A1 is cancelled."}]}
        }
      ]
    }
  ]
}
"""


def turn(user: str, order_id: object, answer: str) -> dict[str, Any]:
    """A turn that looks an order up."""
    return {
        "user_content": {"role": "user", "parts": [{"text": user}]},
        "intermediate_data": {"tool_uses": [{"name": "look_up", "args": {"order_id": order_id}}]},
        "final_response": {"role": "model", "parts": [{"text": answer}]},
    }


SLIPS = {
    "eval_set_id": "slips",
    "eval_cases": [
        {"eval_id": name, "conversation": [turn(f"Where is order {order_id}?", order_id, "On its way.")]}
        for name, order_id in (("first", "17"), ("second", "18"), ("third", "19"), ("fourth", 20))
    ],
}
"""An eval set with a slip in its last case; its config has one too."""

JUDGED = {
    "criteria": {
        "final_response_match_v2": {"threshold": 0.8},
        "rubric_based_final_response_quality_v1": {
            "threshold": 0.8,
            "rubrics": [
                {
                    "rubric_id": "says_when",
                    "rubric_content": {"text_property": "The answer says when the parcel arrives."},
                },
                {
                    "rubric_id": "polite",
                    "rubric_content": {"text_property": "The answer is polite."},
                },
            ],
        },
    }
}
LABELS = [
    {"eval_id": "where_is_a1", "response": "Order A1 is shipped.", "label": "pass"},
    {"eval_id": "where_is_a1", "response": "I cannot help with that.", "label": "fail"},
    {"eval_id": "order_b2", "response": "Your order B2 is on its way.", "label": "pass"},
    {"eval_id": "order_b2", "response": "It has left the house.", "label": "fail"},
]
SCENARIOS = {
    "scenarios": [
        {
            "starting_prompt": "Where is my order?",
            "conversation_plan": "Ask about order A1; give the number when asked for it.",
            "user_persona": "NOVICE",
        },
        {
            "starting_prompt": "I want my money back.",
            "conversation_plan": "Cancel order B2, and ask when the money comes.",
        },
    ]
}

TRIPS = [
    {
        "starting_prompt": "I want to go somewhere warm.",
        "conversation_plan": "Name Lisbon when asked; stay 3 days for at most 400 euros, and book the offer.",
    },
    {
        "starting_prompt": "A weekend in Rome, please.",
        "conversation_plan": "Say that it may cost 200 euros. Decline every offer, and thank the agent.",
    },
]

FLAKY = "sample_agents/forgetful_order_desk"
ORDERS = f"{FLAKY}/orders.evalset.json"


@dataclass(frozen=True)
class Shot:
    """A command to capture."""

    name: str
    command: str
    says: Sequence[tuple[str, str]] = ()
    """What a person types: what is waited for, and the line."""


@dataclass(frozen=True)
class Scene:
    """Commands that follow one another in a project of their own."""

    shots: Sequence[Shot]
    files: Mapping[str, str] = field(default_factory=dict)
    """Besides the samples."""


SCENES = [
    Scene(
        [
            Shot("lucky_run", f"agent-eval run --evalset {ORDERS} --num_runs 1"),
            Shot("five_runs", f"agent-eval run --evalset {ORDERS}"),
            Shot("compare", "agent-eval compare previous latest"),
            Shot("explain", "agent-eval explain latest"),
            Shot("report", "agent-eval report latest"),
            Shot("last_failed", f"agent-eval run --evalset {ORDERS} --last-failed --quiet"),
            Shot("history", "agent-eval history"),
            Shot("grade", "agent-eval grade latest --config lenient.json"),
        ],
        {"lenient.json": json.dumps({"criteria": {"response_match_score": 0.3}})},
    ),
    Scene(
        [
            Shot("dry_run", "agent-eval run --evalset evalsets/house_rules.evalset.json --dry-run"),
            Shot("all", "agent-eval run --all --quiet"),
            Shot("baseline_set", "agent-eval baseline set .agent_eval/results/travel_planner_tools"),
            Shot("baseline_show", "agent-eval baseline show"),
            Shot("compare_baseline", "agent-eval compare baseline --evalset travel_planner_tools"),
            Shot("details", f"agent-eval run {ORDERS}:order_b2 --num-runs 1 --print-detailed-results"),
            Shot("crash", f"agent-eval run crashing.py {ORDERS} --parallelism 1"),
            Shot("scenarios", "agent-eval run --evalset evalsets/travel_planner_scenarios.evalset.json"),
            Shot("input_error", f"agent-eval run sample_agents/order_dsk {ORDERS}"),
            Shot("usage_error", "agent-eval run --all --num-run 3"),
            Shot("typo", "agent-eval run typo.evalset.json"),
        ],
        {"crashing.py": CRASHING, "typo.evalset.json": TYPO},
    ),
    Scene(
        [
            Shot("explain_code", "agent-eval explain AE101"),
            Shot("lint", "agent-eval lint slips.evalset.json"),
            Shot("lint_clean", "agent-eval lint"),
            Shot("metrics", "agent-eval metrics"),
            Shot("schema", "agent-eval schema config | head -n 12"),
            Shot("scenario_add", "agent-eval scenario add desk.evalset.json --scenarios-file scenarios.json"),
            Shot("init", f"agent-eval init {FLAKY}"),
            Shot(
                "record",
                "agent-eval record sample_agents/order_desk evalsets/first.evalset.json",
                [
                    ("you> ", "Where is order OD-1001?"),
                    ("you> ", ""),
                    ("(case_1): ", "where_is_a1"),
                    ("[y/n] (n): ", "y"),
                ],
            ),
            Shot("version", "agent-eval --version"),
            Shot("completion", "agent-eval --show-completion"),
        ],
        {
            "slips.evalset.json": json.dumps(SLIPS, indent=1),
            "slips.eval_config.json": json.dumps({"criteria": {"response_match": 0.8}}, indent=1),
            "scenarios.json": json.dumps(SCENARIOS),
        },
    ),
    Scene(
        [
            Shot("judged_run", f"agent-eval run {ORDERS} --config judged.json --num-runs 1"),
            Shot(
                "judge_show",
                f"agent-eval judge show {ORDERS} --case order_b2 --config judged.json | fold -s | tail -n 45",
            ),
            Shot("judge_check", f"agent-eval judge check {ORDERS} --labels labels.json --config judged.json"),
            Shot("cache_stats", "agent-eval cache stats"),
            Shot("cache_clear", "agent-eval cache clear"),
            Shot(
                "scenario_generate",
                "agent-eval scenario generate sample_agents/travel_planner trips.evalset.json --count 2",
            ),
        ],
        {"judged.json": json.dumps(JUDGED), "labels.json": json.dumps(LABELS)},
    ),
]


def replied(asked: Asked) -> Any:
    """What the model says. As a judge, that nothing tells when parcels come, and that refusals are wrong."""
    keys = asked.schema["properties"]
    if "scenarios" in keys:
        return {"scenarios": TRIPS}
    if "verdicts" in keys:
        polite = {"rationale": "There is nothing rude in it.", "verdict": "yes"}
        late = {"rationale": "No day and no hour is named.", "verdict": "no"}
        return {"verdicts": {"says_when": late, "polite": polite}}
    if "cannot help" in asked.prompt:
        return {"reasoning": "The user is told nothing of the order.", "verdict": "invalid"}
    return {"reasoning": "It says where the order is, as the reference does.", "verdict": "valid"}


TIME = r"(?:\d+ ms|[\d.]+ s)"


def steady(text: str) -> str:
    """The text without what differs from run to run; columns stay where they are."""
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    text = re.sub(r"\d{8}T\d{9}Z-[0-9a-f]{8}", "20260131T093000000Z-1a2b3c4d", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-01-31 09:30", text)
    text = re.sub(r"(2026-01-31 09:30):\d\d", r"\1:00", text)
    text = re.sub(rf"((?:COMPLETED|CRASHED|duration_v1) +){TIME}$", r"\g<1>12 ms", text, flags=re.MULTILINE)
    text = re.sub(rf" +{TIME}$", lambda match: "12 ms".rjust(len(match[0])), text, flags=re.MULTILINE)
    return re.sub(rf"\({TIME}\)", "(50 ms)", text)


def typed(shot: Shot, folder: Path, environment: Mapping[str, str]) -> str:
    """A command, what a terminal shows of it, and its exit code."""
    script = f'agent-eval() {{ "{sys.executable}" -m agent_eval "$@"; }}; {shot.command}'
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, WIDTH, 0, 0))
    process = subprocess.Popen(
        ["bash", "-c", script],
        cwd=folder,
        env=dict(environment),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    shown, waiting, seen = b"", list(shot.says), 0
    while chunk := _read(master):
        shown += chunk
        while waiting and (found := shown.find(waiting[0][0].encode(), seen)) >= 0:
            seen = found + 1
            os.write(master, waiting.pop(0)[1].encode() + b"\n")
    os.close(master)
    code = process.wait()
    lines = steady(shown.decode().replace("\r\n", "\n")).splitlines()
    told = "".join(f"{part.rstrip()}\n" for line in lines for part in _folded(line))
    return f"$ {shot.command}\n{told}$ echo $?\n{code}\n"


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # nobody has the other end any more
        return b""


def _folded(line: str) -> list[str]:
    """A line as a terminal breaks it."""
    return [line[start : start + WIDTH] for start in range(0, len(line), WIDTH)] or [""]


@contextmanager
def project(files: Mapping[str, str]) -> Iterator[tuple[Path, dict[str, str]]]:
    """A folder with the samples and some files, and an environment whose models are played by a script."""
    with tempfile.TemporaryDirectory() as name, serving() as models:
        folder = Path(name)
        models.always = replied
        for samples in ("sample_agents", "evalsets"):
            shutil.copytree(ROOT / samples, folder / samples, ignore=LEFT_OUT)
        for file, content in {"pyproject.toml": PROJECT, **files}.items():
            (folder / file).write_text(content)
        inherited = {name: value for name, value in os.environ.items() if name not in UNSET}
        yield folder, inherited | models.environment | {"PYTHONIOENCODING": "utf-8", "PYTHONSAFEPATH": "1"}


def played(scene: Scene) -> dict[str, str]:
    """The captures of a scene by their names."""
    with project(scene.files) as (folder, environment):
        plain = environment | {"TERM": "dumb", "NO_COLOR": "1"}
        return {shot.name: typed(shot, folder, plain) for shot in scene.shots}


def captures() -> dict[str, str]:
    """Each capture by its name."""
    with ThreadPoolExecutor(len(SCENES)) as threads:
        return {name: text for texts in threads.map(played, SCENES) for name, text in texts.items()}


def with_captures(page: str, texts: dict[str, str]) -> str:
    """A page with the block after each `<!-- capture: name -->` renewed."""

    def block(match: re.Match[str]) -> str:
        return f"<!-- capture: {match[1]} -->\n```\n{texts[match[1]]}```\n"

    return re.sub(
        r"<!-- capture: (\w+) -->\n(?:```\n.*?^```\n)?", block, page, flags=re.DOTALL | re.MULTILINE
    )


if __name__ == "__main__":
    texts = captures()
    for page in PAGES:
        page.write_text(with_captures(page.read_text(encoding="utf-8"), texts), encoding="utf-8")
