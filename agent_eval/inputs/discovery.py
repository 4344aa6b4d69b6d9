"""Which eval sets, which config, which agent: found by fixed rules, and said why."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_eval.errors import InputError, Problem, did_you_mean
from agent_eval.files import real
from agent_eval.inputs.evalsets import SUFFIXES, eval_set_id_of
from agent_eval.inputs.project import Project
from agent_eval.inputs.selectors import Selector, parse_selector
from agent_eval.schema.evalset import EvalCase


@dataclass(frozen=True, slots=True)
class Found:
    """A path or reference, and why it was chosen."""

    reference: str
    why: str


def selected_eval_sets(
    arguments: Sequence[str], agent: str | None, project: Project, *, every: bool
) -> list[Selector]:
    """The eval sets that were asked for. One named twice is run once, with all cases named.

    Raises:
        InputError: none is named, or an argument selects nothing.
    """
    selectors = [
        Selector(argument) if Path(argument).exists() else parse_selector(argument) for argument in arguments
    ]
    if every:
        selectors += [Selector(str(path)) for path in all_eval_sets(project)]
    if not selectors:
        raise InputError(Problem("no eval set is named", hint="name one, or use --all"))
    merged: dict[Path, Selector] = {}
    for selector in selectors:
        path = _eval_set_path(selector.file, agent)
        known = merged.get(real(path), Selector(str(path), selector.case_ids))
        both = tuple(dict.fromkeys((*known.case_ids, *selector.case_ids)))
        whole = not known.case_ids or not selector.case_ids
        merged[real(path)] = Selector(known.file, () if whole else both)
    return list(merged.values())


def _eval_set_path(name: str, agent: str | None) -> Path:
    """A path as given; an id without an ending names a set kept in the agent's folder, as in ADK."""
    path = Path(name)
    if not path.exists() and agent and path.name == name and not name.endswith(".json"):
        kept = Path(agent) / f"{name}.evalset.json"
        if kept.is_file():
            return kept
    return path


def all_eval_sets(project: Project) -> list[Path]:
    """Every eval set file in the project's folders for them.

    Raises:
        InputError: none of the folders exists, or they hold no eval set.
    """
    folders = [project.root / folder for folder in project.settings.evalsets]
    present = [folder for folder in folders if folder.is_dir()]
    names = ", ".join(project.settings.evalsets)
    if not present:
        raise InputError(
            Problem(
                f"--all found no eval set folder: looked for {names}",
                hint="set `evalsets` in [tool.agent-eval] of pyproject.toml",
            )
        )
    files = {file for folder in present for suffix in SUFFIXES for file in folder.glob(f"**/*{suffix}")}
    if not files:
        raise InputError(
            Problem(f"--all found no eval set in {names}", hint="name them *.evalset.json or *.test.json")
        )
    return sorted(files)


def find_config(eval_set: Path) -> Found | None:
    """The config file that belongs to an eval set; None means the default config."""
    here, up = eval_set.parent, eval_set.parent / ".."
    stem = eval_set_id_of(eval_set)
    beside = "beside the eval set"
    candidates = [
        *((here / f"{stem}.eval_config.{ending}", beside) for ending in ("json", "yaml", "yml")),
        *((here / f"eval_config.{ending}", beside) for ending in ("json", "yaml", "yml")),
        *(
            (up / f"eval_config.{ending}", "one folder above the eval set")
            for ending in ("json", "yaml", "yml")
        ),
        (here / "test_config.json", beside),
    ]
    return next((Found(os.path.normpath(file), why) for file, why in candidates if file.is_file()), None)


def find_agent(case: EvalCase, named: str | None, project: Project, *, by_case: bool = True) -> Found:
    """The agent that plays a case.

    Args:
        case: the case.
        named: what the command line names.
        project: the project's settings.
        by_case: whether the case may name it.

    Raises:
        InputError: none is named, and no folder is called like the case's app.
    """
    if named:
        return Found(named, "named")
    if project.settings.agent:
        return Found(_from(project.root, project.settings.agent), "agent in pyproject.toml")
    if not by_case:
        raise InputError(
            Problem(
                "no agent is named, and with --no_custom_code a case may not name one",
                hint="name the agent: `agent-eval run AGENT EVALSET`",
            )
        )
    folders = [project.root / folder for folder in project.settings.agents]
    app_name = case.session_input.app_name if case.session_input else ""
    if not app_name:
        raise InputError(
            Problem(
                f"case `{case.eval_id}` names no agent: it has no `session_input.app_name`",
                hint="name the agent: `agent-eval run AGENT EVALSET`",
            )
        )
    for folder in folders:
        for place in (folder / app_name, folder / f"{app_name}.py"):
            if _is_in(place, folder):
                return Found(str(place), f"app_name of case `{case.eval_id}`")
    known = [entry.name for folder in folders if folder.is_dir() for entry in folder.iterdir()]
    raise InputError(
        Problem(
            f"no agent `{app_name}` in {', '.join(project.settings.agents)} (case `{case.eval_id}`)",
            hint=did_you_mean(app_name, known) or "name the agent: `agent-eval run AGENT EVALSET`",
        )
    )


def _is_in(place: Path, folder: Path) -> bool:
    """Whether it is there: an app name is a name, not a path that leads elsewhere."""
    try:
        return place.exists() and real(place).parent == real(folder)
    except (OSError, ValueError):  # no file can be called like that
        return False


def _from(root: Path, reference: str) -> str:
    path = root / reference
    return str(path) if path.exists() else reference


def select_cases(cases: Sequence[EvalCase], case_ids: Sequence[str], file: str) -> list[EvalCase]:
    """The named cases, in the set's order; all of them when none is named.

    Raises:
        InputError: the set has no cases, or not one that is named.
    """
    if not cases:
        raise InputError(Problem("the eval set has no cases", file))
    known = [case.eval_id for case in cases]
    unknown = [case_id for case_id in case_ids if case_id not in known]
    if unknown:
        raise InputError(
            *(
                Problem(
                    f"there is no case `{case_id}`",
                    file,
                    hint=did_you_mean(case_id, known) or f"its cases are {_listed(known)}",
                )
                for case_id in unknown
            )
        )
    return [case for case in cases if not case_ids or case.eval_id in case_ids]


def _listed(names: Sequence[str], most: int = 10) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def agents_of(project: Project) -> list[Path]:
    """What looks like an agent in the project's folders for them; nothing is imported to find out."""
    found = []
    for folder in (project.root / name for name in project.settings.agents):
        for path in sorted(folder.glob("*")):
            sources = [path / "agent.py", path / "__init__.py"] if path.is_dir() else [path]
            written = any(source.suffix == ".py" and _exposes_agent(source) for source in sources)
            if written or (path / "root_agent.yaml").is_file():
                found.append(path)
    return found


def _exposes_agent(source: Path) -> bool:
    try:
        text = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return bool(re.search(r"^(?:async )?(?:def )?root_agent\b", text, re.MULTILINE))
