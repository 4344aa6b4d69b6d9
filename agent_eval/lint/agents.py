"""Eval sets and the agent they are for, as far as its folder and source tell (AE722, AE723)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent_eval.diagnose.wording import named
from agent_eval.errors import InputError, did_you_mean
from agent_eval.inputs.discovery import find_agent
from agent_eval.inputs.project import Project
from agent_eval.lint.findings import Finding
from agent_eval.lint.sources import SetSource
from agent_eval.schema.evalset import EvalCase

_PLACEHOLDER = re.compile(r"\{\s*([a-zA-Z_]\w*)\s*\}")
"""A name of the state that has to be there; `{name?}`, `{app:name}` and `{artifact.x}` are others."""
_INSTRUCTIONS = ("instruction", "global_instruction")


def app_names(source: SetSource, project: Project) -> Iterator[Finding]:
    """Cases for an app that no agent's folder is called like."""
    if not _is_below(source.path, project.root):
        return
    known = _agents(project)
    own = project.settings.agent
    told: set[str] = set()
    for index, case in enumerate(source.cases):
        app = case.session_input.app_name if case.session_input else ""
        if not app or app in told or app in source.path.resolve().parts or Path(app).name != app:
            continue
        wanted = [Path(own).stem] if own else known
        if wanted and app not in wanted and app not in known:
            told.add(app)
            yield source.warning(
                "AE722",
                f"no agent of the project is called `{app}`",
                source.at_case(index, "session_input", "app_name"),
                hint=did_you_mean(app, wanted) or f"its agents are {named(wanted)}",
            )


def _agents(project: Project) -> list[str]:
    """The names of what looks like an agent in the project's folders."""
    folders = [project.root / folder for folder in project.settings.agents]
    return sorted(
        {
            entry.stem if entry.is_file() else entry.name
            for folder in folders
            if folder.is_dir()
            for entry in folder.iterdir()
            if (entry / "agent.py").is_file()
            or (entry / "root_agent.yaml").is_file()
            or entry.suffix == ".py"
        }
    )


def _is_below(path: Path, root: Path) -> bool:
    return path.resolve().is_relative_to(root.resolve())


@dataclass(frozen=True, slots=True)
class Instruction:
    """What an agent's source says of the state."""

    needed: frozenset[str]
    """Placeholders of its instructions."""
    named: frozenset[str]
    """Every text in it that could be a key: whatever is named may be set."""


def placeholders(source: SetSource, project: Project) -> Iterator[Finding]:
    """Placeholders of the agent's instruction that neither a case nor its source gives a value."""
    read: dict[Path, Instruction] = {}
    for index, case in enumerate(source.cases):
        place = _folder(case, project)
        if place is None:
            continue
        if place not in read:
            read[place] = _instruction(place)
        state = case.session_input.state if case.session_input else {}
        missing = sorted(read[place].needed - read[place].named - set(state))
        if missing:
            where = ("session_input", "state") if case.session_input else ()
            yield source.warning(
                "AE723",
                f"the instruction of `{place.name}` needs {named(missing)} in the session's state, and the "
                "case does not give it",
                source.at_case(index, *where),
                hint="add it to `session_input.state`; see AE401",
            )


def _folder(case: EvalCase, project: Project) -> Path | None:
    """The agent's folder or file, if it is known without a command line."""
    try:
        place = Path(find_agent(case, None, project).reference)
    except InputError:
        return None
    return place if place.exists() else None


def _instruction(place: Path) -> Instruction:
    """Read from the source; nothing is imported."""
    needed: set[str] = set()
    texts: set[str] = set()
    for file in sorted(place.glob("*.py")) if place.is_dir() else [place]:
        try:
            tree = ast.parse(file.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
            if (
                isinstance(node, ast.keyword)
                and node.arg in _INSTRUCTIONS
                and isinstance(node.value, ast.Constant)
            ):
                needed |= set(_PLACEHOLDER.findall(str(node.value.value)))
    return Instruction(frozenset(needed), frozenset(texts))
