"""Writes docs/reference.md: what every command prints for --help at 80 columns, and every key of the files.

    python docs/reference.py

All of it is taken from the code.
"""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer
from pydantic import BaseModel

from agent_eval.cli.app import app
from agent_eval.inputs.labels import Label
from agent_eval.inputs.project import ProjectSettings
from agent_eval.metrics.builtin import BUILT_IN
from agent_eval.schema import config, evalset, multi_run, result, tools, trace

PAGE = Path(__file__).with_name("reference.md")

GROUPS: dict[str, tuple[str, tuple[type[BaseModel], ...]]] = {
    "Eval sets": (
        "How they are found, and what is refused, is in [Eval sets and configs](files.md).",
        (
            evalset.EvalSet,
            evalset.EvalCase,
            trace.Invocation,
            trace.IntermediateData,
            evalset.ConversationScenario,
            evalset.UserPersona,
            evalset.UserBehavior,
            evalset.SessionInput,
            trace.Rubric,
        ),
    ),
    "Eval configs": (
        "Criteria have `threshold` and the keys of their metric.",
        (
            config.EvalConfig,
            config.CustomMetricConfig,
            multi_run.MultiRunConfig,
            multi_run.CrossRunScoring,
            config.LlmBackedSimulatorConfig,
            config.ScriptedSimulatorConfig,
            config.ScriptedTurn,
            tools.ToolMocks,
            tools.ToolMock,
            config.JudgeModelOptions,
        ),
    ),
    "Results": (
        "Which of these scripts may rely on is in [Results](results.md).",
        (
            result.EvalResult,
            result.CaseResult,
            result.CaseMetric,
            result.RunRecord,
            result.MetricResult,
            result.InvocationScore,
            result.JudgeUsage,
        ),
    ),
    "Labels": ("For `agent-eval judge check`: [Judges](judges.md#measuring).", (Label,)),
    "`[tool.agent-eval]` in pyproject.toml": ("Paths are relative to the file.", (ProjectSettings,)),
}


def commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command there is; `eval` is another name for the same ones."""
    yield words
    for name, command in sorted(getattr(group, "commands", {}).items()):
        if name != "eval":
            yield from commands(command, (*words, name))


def help_of(words: tuple[str, ...]) -> str:
    """What a command prints for --help at 80 columns."""
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-m", "agent_eval", *words, "--help"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.rstrip() for line in done.stdout.strip("\n").splitlines()]
    return "\n".join(lines)


@cache
def meanings(model: type[BaseModel]) -> dict[str, str]:
    """The docstring below each field of a class and its bases."""
    found: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if not cls.__module__.startswith("agent_eval"):
            continue
        (body,) = ast.parse(inspect.getsource(cls)).body
        assert isinstance(body, ast.ClassDef)
        for field, told in zip(body.body, body.body[1:], strict=False):
            match field, told:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    found[name] = " ".join(text.split())
    return found


def kind_of(schema: dict[str, Any]) -> str:
    """A JSON Schema in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    for several in ("anyOf", "oneOf"):
        if several in schema:
            kinds = dict.fromkeys(kind_of(one) for one in schema[several] if one.get("type") != "null")
            return " or ".join(kinds)
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"list of {kind_of(schema.get('items', {}))}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {kind_of(schema['additionalProperties'])}"
    names = {"string": "text", "integer": "whole number", "boolean": "true or false"}
    given = schema.get("type", "anything")
    return names.get(given, given)


def keys_of(model: type[BaseModel]) -> str:
    """A table of a model's keys."""
    schema = model.model_json_schema(by_alias=False, mode="validation")
    required = schema.get("required", [])
    told = meanings(model)
    lines = [f"### {model.__name__}", "", first_line(model), ""]
    lines += ["| key | kind | default | meaning |", "|---|---|---|---|"]
    for name, field in schema.get("properties", {}).items():
        default = "required" if name in required else _default(field)
        meaning = told.get(name, "").replace("|", "\\|")
        lines.append(f"| `{name}` | {kind_of(field)} | {default} | {meaning} |")
    return "\n".join(lines)


def _default(field: dict[str, Any]) -> str:
    default = field.get("default")
    if default is None or default == [] or default == {}:
        return ""
    return f"`{default}`" if len(str(default)) < 40 else "an object"


def first_line(model: type[BaseModel]) -> str:
    """What a model is, in a line."""
    return " ".join((inspect.getdoc(model) or "").split("\n\n")[0].split())


def criteria() -> str:
    """A table of every metric's own keys."""
    lines = ["### Criteria", "", "| metric | keys besides `threshold` |", "|---|---|"]
    for metric in BUILT_IN:
        if metric.info.requires_threshold:
            keys = [f"`{name}`" for name in metric.criterion_type.model_fields if name != "threshold"]
            lines.append(f"| `{metric.info.metric_name}` | {', '.join(keys)} |")
    return "\n".join(lines)


def page() -> str:
    """The whole page."""
    parts = ["# Reference", "Made from the code by `python docs/reference.py`.", "## Commands"]
    for words in commands(typer.main.get_command(app)):
        parts += [f"### `{' '.join(('agent-eval', *words))}`", f"```\n{help_of(words)}\n```"]
    for title, (told, models) in GROUPS.items():
        parts += [f"## {title}", told, *(keys_of(model) for model in models)]
        if title == "Eval configs":
            parts.append(criteria())
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
