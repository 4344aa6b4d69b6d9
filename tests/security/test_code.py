"""Which commands import whose code, and `--no_custom_code`, under which none is that files name."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import agent_eval
from agent_eval.custom_code import named_code
from agent_eval.inputs.configs import parse_config
from tests.security.support import Spied

AGENT = {"bot", "bot.agent"}
METRIC = {"gates"}
JUDGE = {"referee"}
CLOSED_PORT = "http://127.0.0.1:9"


BY_CONFIG = ("orders.evalset.json", "--config", "judged.json")
IMPORTS = {
    "run": (("run", "bot", *BY_CONFIG), AGENT | METRIC | JUDGE),
    "run of the agent that a case names": (("run", "orders.evalset.json", "--config", "plain.json"), AGENT),
    "run --dry_run": (("run", "bot", *BY_CONFIG, "--dry_run"), AGENT | METRIC | JUDGE),
    "run --url": (("run", *BY_CONFIG, "--url", CLOSED_PORT, "--app_name", "bot"), METRIC | JUDGE),
    "run --rerun": (("run", "--rerun", "failed", "latest"), AGENT | METRIC),
    "grade": (("grade", "latest", "--config", "judged.json"), METRIC | JUDGE),
    "judge show": (("judge", "show", *BY_CONFIG, "--case", "a"), METRIC | JUDGE),
    "judge check": (("judge", "check", *BY_CONFIG, "--labels", "labels.json"), METRIC | JUDGE),
    "lint": (("lint", "orders.evalset.json", "coded.json", "judged.json"), set()),
    "lint --fix": (("lint", "--fix", *BY_CONFIG), set()),
    "compare": (("compare", "previous", "latest"), set()),
    "report": (
        ("report", "latest", "--html", "page.html", "--junit_xml", "j.xml", "--markdown", "m.md"),
        set(),
    ),
    "explain": (("explain", "latest"), set()),
    "history": (("history", "demo"), set()),
    "baseline set": (("baseline", "set", "latest"), set()),
    "metrics": (("metrics",), set()),
    "schema": (("schema", "evalset"), set()),
    "cache stats": (("cache", "stats"), set()),
    "scenario add": (("scenario", "add", "new.evalset.json", "--scenarios_file", "scenarios.json"), set()),
}


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "imported"), IMPORTS.values(), ids=IMPORTS)
def test_command_imports_this_code_and_no_other(
    ran: Spied, arguments: tuple[str, ...], imported: set[str]
) -> None:
    ran.write("scenarios.json", {"scenarios": [{"starting_prompt": "Hi", "conversation_plan": "Ask."}]})
    outcome = ran.agent_eval(*arguments)
    assert "bug in agent-eval" not in outcome.stderr
    assert outcome.code in (0, 1), outcome
    assert ran.imported == imported


@pytest.mark.slow
def test_tests_import_code_when_they_run_and_not_when_they_are_collected(desk: Spied) -> None:
    desk.write("orders.eval_config.json", json.loads((desk.root / "coded.json").read_bytes()))
    environment = desk.environment(SPIED=str(desk.spied))

    def ran(*arguments: str) -> str:
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        done = subprocess.run(
            words, cwd=desk.root, env=environment, capture_output=True, timeout=60, check=False
        )
        assert done.returncode in (0, 5), done.stdout
        return done.stdout.decode()

    assert "orders.evalset.json" not in ran()
    assert "orders.evalset.json" in ran("--agent-eval", "--collect-only")
    assert desk.imported == set()
    assert "1 passed" in ran("--agent-eval")
    assert desk.imported == AGENT | METRIC


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "imported"),
    [
        pytest.param(("record", "bot", "new.evalset.json"), AGENT, id="record"),
        pytest.param(
            ("scenario", "generate", "bot", "new.evalset.json", "--model", "python/referee:judge"),
            AGENT | JUDGE,
            id="scenario generate",
        ),
    ],
)
def test_command_imports_what_is_named_on_its_line(
    desk: Spied, arguments: tuple[str, ...], imported: set[str]
) -> None:
    desk.agent_eval(*arguments)
    assert desk.imported == imported


@pytest.mark.slow
def test_monitor_that_a_repository_names_is_not_started(desk: Spied) -> None:
    monitor = desk.write("monitor.sh", '#!/bin/sh\necho monitor >> "$SPIED"\n')
    monitor.chmod(0o755)
    for words in ("init -q .", "add plain.json", f"config core.fsmonitor {monitor}"):
        subprocess.run(["git", *words.split()], cwd=desk.root, check=True)
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "core.fsmonitor=false")
    subprocess.run(["git", *author, "commit", "-q", "-m", "one"], cwd=desk.root, check=True)
    assert desk.agent_eval("run", "bot", "orders.evalset.json", "--config", "plain.json").code == 0
    assert desk.summary()["provenance"]["git_commit"]
    assert desk.imported == AGENT


# --no_custom_code

REFUSED = {
    "run": (("run", "bot", "orders.evalset.json"), ("coded.json", "judged.json", "played.json")),
    "run --dry_run": (("run", "bot", "orders.evalset.json", "--dry_run"), ("coded.json",)),
    "grade": (("grade", "latest"), ("coded.json", "judged.json")),
    "judge show": (("judge", "show", "orders.evalset.json", "--case", "a"), ("judged.json",)),
    "judge check": (("judge", "check", "orders.evalset.json", "--labels", "labels.json"), ("judged.json",)),
}
PLACES = {
    "coded.json": ["coded.json: custom_metrics.gate.code_config.name: names code to import, `gates.gate`"],
    "judged.json": [
        "judged.json: custom_metrics.gate.code_config.name: names code to import, `gates.gate`",
        "judged.json: criteria.final_response_match_v2.judge_model_options.judge_model: "
        "names code to import, `python/referee:judge`",
    ],
    "played.json": ["played.json: user_simulator_config.model: names code to import, `python/referee:judge`"],
}


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "configs"), REFUSED.values(), ids=REFUSED)
def test_config_that_names_code_is_refused_before_any_is_imported(
    ran: Spied, arguments: tuple[str, ...], configs: tuple[str, ...]
) -> None:
    for config in configs:
        outcome = ran.agent_eval(*arguments, "--config", config, "--no-custom-code")
        assert outcome.code == 2, outcome
        for place in PLACES[config]:
            assert f"error: {place} (remove it; or, if you trust this file, leave out --no_custom_code)" in (
                outcome.stderr
            )
        assert ran.imported == set()


@pytest.mark.slow
def test_agent_that_is_named_is_imported_and_one_that_a_case_names_is_not(desk: Spied) -> None:
    plain = ("orders.evalset.json", "--config", "plain.json", "--no_custom_code")
    assert desk.agent_eval("run", "bot", *plain).code == 0
    assert desk.imported == AGENT
    for unnamed in (plain, ("--rerun", "failed", "latest", "--no_custom_code")):
        outcome = desk.agent_eval("run", *unnamed)
        assert outcome.code == 2, outcome
        assert "with --no_custom_code a case may not name one" in outcome.stderr
        assert desk.imported == set()
    desk.write("pyproject.toml", "[tool.agent-eval]\nagent = 'bot'\n")
    assert desk.agent_eval("run", *plain).code == 0
    assert desk.imported == AGENT


def test_code_is_found_wherever_a_config_names_it() -> None:
    config = parse_config(
        json.dumps(
            {
                "criteria": {
                    "a": {"threshold": 1, "judgeModelOptions": {"judgeModel": "python/a.b:c.d"}},
                    "b": {"threshold": 1, "of": [{"my own": ["x", "python/e:f"]}]},
                    "c": {"threshold": 1, "judge_model_options": {"judge_model": "openai/python/a:b"}},
                },
                "custom_metrics": {"unused": {"code_config": {"name": "json.dumps"}}},
                "user_simulator_config": {"type": "llm_backed", "model": "python/os:system"},
            }
        ).encode(),
        "config.json",
    )
    assert dict(named_code(config)) == {
        "custom_metrics.unused.code_config.name": "json.dumps",
        "criteria.a.judgeModelOptions.judgeModel": "python/a.b:c.d",
        "criteria.b.of[0].my own[1]": "python/e:f",
        "user_simulator_config.model": "python/os:system",
    }


IMPORTERS = ("import_module", "__import__", "import_below", "import_from", "exec", "eval", "run_path")


def test_nothing_else_imports_what_a_text_names() -> None:
    """Who imports by a name that is no constant is known here, so that `named_code` can be complete."""
    known = {
        "__init__.py": "public names of this package, from a table",
        "agents/adk_setup.py": "names of OpenTelemetry's modules",
        "agents/resolve.py": "the agent that is asked for",
        "imports.py": "does it for the others",
        "judge/python.py": "models in this process",
        "metrics/builtin.py": "modules of this package, from a table",
        "metrics/custom.py": "metrics of the user's own",
        "metrics/judged/vertex.py": "google-adk's modules",
    }
    home = Path(agent_eval.__file__).parent
    found = set()
    for file in home.glob("**/*.py"):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if called in (
                    "import_module",
                    "__import__",
                    "import_below",
                    "import_from",
                    "exec",
                    "eval",
                    "run_path",
                ):
                    found.add(str(file.relative_to(home)))
    assert found == set(known)
