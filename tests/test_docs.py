"""What the documents promise is tried: the README's five minutes, every example file, the versions."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from junitparser import JUnitXml

import agent_eval
from agent_eval.inputs.configs import parse_config
from agent_eval.inputs.evalsets import parse_eval_set
from agent_eval.inputs.labels import parse_labels
from agent_eval.metrics.builtin import BUILT_IN

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(document: Path, language: str) -> list[str]:
    return [text for found, text in FENCE.findall(document.read_text()) if found == language]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "agent_eval", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_five_minutes_of_the_readme(tmp_path: Path) -> None:
    readme = ROOT / "README.md"
    (agent,) = blocks(readme, "python")
    eval_set, config, *_ = blocks(readme, "json")
    (tmp_path / "greeter.py").write_text(agent)
    (tmp_path / "greeter.evalset.json").write_text(eval_set)
    command = next(text for text in blocks(readme, "console") if "greeter.py" in text)
    arguments = command.removeprefix("$ agent-eval ").split()

    with_default = run(tmp_path, *arguments)
    assert with_default.returncode == 0, with_default.stderr
    assert "greets_by_name" in with_default.stdout

    (tmp_path / "greeter.eval_config.json").write_text(config)
    with_own = run(tmp_path, *arguments)
    assert with_own.returncode == 0
    assert "0.90" in with_own.stdout

    (tmp_path / "greeter.py").write_text(agent.replace('"hello" not in', '"hello" in'))
    broken = run(tmp_path, *arguments)
    assert broken.returncode == 1
    assert "look_up_name" in broken.stdout


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_examples_in_documents_are_read(document: Path) -> None:
    for text in blocks(document, "json"):
        if '"eval_set_id"' in text:
            parse_eval_set(text.encode(), "example.json", "example")
        elif '"label"' in text:
            parse_labels(text, "example.json")
        else:
            parse_config(text.encode(), "example.json")
    for text in blocks(document, "yaml"):
        parse_config(text.encode(), "example.yaml")
    for text in blocks(document, "toml"):
        tomllib.loads(text)
    for text in blocks(document, "python"):
        compile(text, document.name, "exec")


@pytest.mark.slow
def test_captures_in_documents_are_what_commands_print(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    capture = importlib.import_module("capture")
    texts = capture.captures()
    told = " ".join(page.read_text(encoding="utf-8") for page in capture.PAGES)
    assert [name for name in texts if f"<!-- capture: {name} -->" not in told] == []
    assert max(len(line) for text in texts.values() for line in text.splitlines() if line[0:1] != "$") <= 80
    for page in capture.PAGES:
        assert page.read_text(encoding="utf-8") == capture.with_captures(
            page.read_text(encoding="utf-8"), texts
        )


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_each_picture_is_shown_and_small() -> None:
    shown = [
        (document.parent / link).resolve()
        for document in DOCUMENTS
        for link in set(re.findall(r"!\[[^\]]+\]\((?!http)([^)]+)\)", document.read_text()))
    ]
    pictures = sorted((ROOT / "docs" / "pictures").iterdir())
    assert [picture for picture in pictures if picture not in shown] == []
    assert [picture for picture in shown if not picture.is_file()] == []
    assert [picture for picture in pictures if picture.stat().st_size > 300_000] == []
    assert [picture for picture in pictures if b"url(http" in picture.read_bytes()] == []


def test_nobody_is_told_to_install_another_project_of_that_name() -> None:
    for document in [*DOCUMENTS, ROOT / "CONTRIBUTING.md", ROOT / "pyproject.toml"]:
        assert not re.search(r"(pip|uv|pipx)\s+\S*\s*install\s+['\"]?agent-eval\b", document.read_text())


def test_top_of_the_changelog_is_this_version() -> None:
    top = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert top
    assert top[1] == importlib.metadata.version("adk-agent-eval")


def test_public_names_are_all_there() -> None:
    assert agent_eval.__all__ == sorted(agent_eval.__all__)
    for name in agent_eval.__all__:
        assert getattr(agent_eval, name).__name__ in (name, "GenerateContentResponseUsageMetadata")


def test_every_metric_is_in_the_table_of_those_that_fit_scenarios() -> None:
    page = (ROOT / "docs" / "user-simulation.md").read_text()
    rows = re.findall(r"^\| (`.*?`) \| (\w+)", page, re.MULTILINE)
    fits = {name: said for names, said in rows for name in re.findall(r"`(\w+)`", names)}
    for metric in BUILT_IN:
        said = fits[metric.info.metric_name]
        expected = "no" if metric.needs_reference else "only" if metric.needs_scenario else "yes"
        assert said == (expected if metric.info.requires_threshold else "always"), metric.info.metric_name


def test_way_from_nothing_to_a_red_check_and_back(tmp_path: Path) -> None:
    page = ROOT / "docs" / "first-check.md"
    (agent,) = blocks(page, "python")
    (eval_set,) = blocks(page, "json")
    look, report, again = [text.removeprefix("$ agent-eval ").split() for text in blocks(page, "console")]
    (tmp_path / "clerk.py").write_text(agent)
    (tmp_path / "clerk.evalset.json").write_text(eval_set)

    red = run(tmp_path, *look)
    assert red.returncode == 1, red.stderr
    code = re.search(r"AE\d{3}", red.stdout)
    assert code, red.stdout
    assert code[0] in page.read_text()
    assert run(tmp_path, "explain", code[0]).returncode == 0

    assert run(tmp_path, *report).returncode == 1
    suite = JUnitXml.fromfile(str(tmp_path / "report.xml"))
    assert (suite.tests, suite.failures, suite.errors) == (2, 1, 0)
    assert code[0] in (tmp_path / "report.xml").read_text()
    assert "<html" in (tmp_path / "report.html").read_text()

    lines = [line for line in agent.splitlines() if '"please"' not in line and "is shipped" not in line]
    (tmp_path / "clerk.py").write_text("\n".join(lines))
    mended = run(tmp_path, *again)
    assert mended.returncode == 0, mended.stdout
    assert "1 case" in mended.stdout


@pytest.mark.slow
def test_reference_is_what_the_code_says() -> None:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    assert spec
    assert spec.loader
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)

    page = reference.page()
    assert page == reference.PAGE.read_text(encoding="utf-8"), "python docs/reference.py"
    told = re.findall(r"^```\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert max(len(line) for text in told for line in text.splitlines()) <= 80


def test_hook_before_commits_is_given_eval_sets_and_configs_only() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    wanted = (
        "evalsets/a.evalset.json",
        "b.test.json",
        "x/a.eval_config.yaml",
        "test_config.json",
        "eval_config.yml",
    )
    others = ("package.json", "a.json", "latest.json", "eval_config.py", "my_test_config.json")

    assert [name for name in wanted if not re.search(hook["files"], name)] == []
    assert [name for name in others if re.search(hook["files"], name)] == []
