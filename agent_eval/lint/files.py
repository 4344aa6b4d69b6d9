"""Which files are checked, and which config belongs to which eval sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent_eval.errors import InputError, Problem
from agent_eval.files import real
from agent_eval.inputs.discovery import all_eval_sets, find_config
from agent_eval.inputs.evalsets import SUFFIXES
from agent_eval.inputs.project import Project

CONFIG_NAMES = ("*eval_config.json", "*eval_config.yaml", "*eval_config.yml", "test_config.json")


def chosen_files(paths: Sequence[str], project: Project) -> list[Path]:
    """The files named, and those in the folders named; without any, the project's.

    Raises:
        InputError: a path leads nowhere, or there is nothing to check.
    """
    if not paths:
        eval_sets = _eval_sets_of(project)
        folders = dict.fromkeys(file.parent for file in eval_sets)
        return _unique([*eval_sets, *(file for folder in folders for file in _configs_in(folder))])
    found: list[Path] = []
    for name in paths:
        path = Path(name)
        if path.is_dir():
            found += _below(path)
        elif path.exists():
            found.append(path)
        else:
            raise InputError(Problem("no such file or folder", name))
    if not found:
        raise InputError(
            Problem(
                f"no eval set and no config in {', '.join(paths)}",
                hint=f"name a file, or name eval sets *{SUFFIXES[0]} and configs *eval_config.json",
            )
        )
    return _unique(found)


def _eval_sets_of(project: Project) -> list[Path]:
    try:
        return all_eval_sets(project)
    except InputError:
        names = ", ".join(project.settings.evalsets)
        hint = "name files or folders, or set `evalsets` in [tool.agent-eval] of pyproject.toml"
        raise InputError(Problem(f"there is no eval set in {names}", hint=hint)) from None


def _below(folder: Path) -> list[Path]:
    sets = [file for suffix in SUFFIXES for file in folder.glob(f"**/*{suffix}")]
    configs = [file for name in CONFIG_NAMES for file in folder.glob(f"**/{name}")]
    return sorted(file for file in (*sets, *configs) if file.is_file())


def _configs_in(folder: Path) -> list[Path]:
    return sorted(file for name in CONFIG_NAMES for file in folder.glob(name))


def _unique(files: Sequence[Path]) -> list[Path]:
    return list({real(file): file for file in reversed(files)}.values())[::-1]


def config_of(eval_set: Path, named: str | None) -> Path | None:
    """The config that an eval set is run with; None for the default one."""
    if named:
        return Path(named)
    found = find_config(eval_set)
    return Path(found.reference) if found else None
