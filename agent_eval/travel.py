"""What an evaluation needs where nothing of it is: its code, its paths, its variables."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from agent_eval.agents.resolve import dotenv_near
from agent_eval.engine.executors.ray import Luggage
from agent_eval.errors import InputError, Problem
from agent_eval.inputs.project import Project
from agent_eval.options import Options
from agent_eval.selection import ReadSet, Selection


@dataclass(frozen=True, slots=True)
class Ground:
    """The project's folder, all of which travels, and the folder in it that paths are relative to."""

    root: Path
    here: Path

    @classmethod
    def of(cls, project: Project) -> Ground:
        """The ground of a project, seen from the current folder."""
        return cls(project.root.resolve(), Path.cwd())

    def holds(self, path: Path) -> bool:
        """Whether a path leads into it."""
        return path.resolve().is_relative_to(self.root)

    def near(self, path: Path) -> Path:
        """A path that is the same wherever the ground is: relative, if it leads into it."""
        if path.is_absolute() and self.holds(path):
            return Path(os.path.relpath(path.resolve(), self.here))
        return path

    def near_name(self, name: str) -> str:
        """The same for what may be a path, or the name of a module."""
        return str(self.near(Path(name))) if Path(name).is_absolute() else name


def portable(selection: Selection) -> Selection:
    """The selection with the names that its agents have anywhere."""
    ground = Ground.of(selection.project)
    options, project = selection.options, selection.project
    settings = project.settings.model_copy(
        update={
            "agent": project.settings.agent and ground.near_name(project.settings.agent),
            "agents": tuple(ground.near_name(folder) for folder in project.settings.agents),
        }
    )
    return replace(
        selection,
        options=replace(options, agent=options.agent and ground.near_name(options.agent)),
        project=Project(project.root, settings, project.file),
    )


def sent(selection: Selection) -> Selection:
    """The selection as it travels: with the places that its code has on the way."""
    ground = Ground.of(selection.project)
    return replace(
        selection,
        sets=tuple(_sent_set(read, ground) for read in selection.sets),
        code_folders=tuple(map(ground.near, selection.code_folders)),
    )


def _sent_set(read: ReadSet, ground: Ground) -> ReadSet:
    loaded, config = read.loaded, read.config
    return replace(
        read,
        loaded=replace(loaded, path=ground.near(loaded.path)),
        config=replace(config, path=config.path and ground.near(config.path)),
    )


def arrived(selection: Selection) -> Selection:
    """The selection with the places that its code has here, where it arrived."""
    return replace(selection, code_folders=tuple(folder.resolve() for folder in selection.code_folders))


def packed(selection: Selection, agents: Iterable[str]) -> Luggage:
    """What travels along: the project's folder, and the variables that its files of variables name.

    Args:
        selection: what is to run.
        agents: the references of its agents, which are imported.

    Raises:
        InputError: an agent is elsewhere, or the folder is no project's.
    """
    ground = Ground.of(selection.project)
    if ground.root in (Path(ground.root.anchor), Path.home()):
        told = "would be sent to the nodes with all that is in it: start in your project's folder"
        raise InputError(Problem(told, str(ground.root)))
    places = {name: Path(name) for name in agents if Path(name).exists()}
    hint = "start in a folder that holds it, or install it on the nodes and name `package.module:attribute`"
    problems = [
        Problem(f"is not in the folder that is sent to the nodes, {ground.root}", name, hint=hint)
        for name, place in places.items()
        if not ground.holds(place)
    ]
    problems += [
        Problem("is the folder that is sent, and has another name there: start one folder above it", name)
        for name, place in places.items()
        if place.resolve() == ground.root
    ]
    if problems:
        raise InputError(*problems)
    return Luggage(
        root=ground.root,
        here=os.path.relpath(ground.here, ground.root),
        excluded=tuple(_staying(selection.options, ground)),
        variables=_variables(selection.options, agents),
    )


def _staying(options: Options, ground: Ground) -> Iterator[str]:
    """What of the ground stays here, as patterns: results, and variables, which travel apart."""
    for name in (options.output, options.env_file):
        place = Path(name).resolve() if name else ground.root
        if place != ground.root and ground.holds(place):
            yield f"/{place.relative_to(ground.root).as_posix()}"


def _variables(options: Options, agents: Iterable[str]) -> dict[str, str]:
    """What `--env_file` and the agents' `.env` name, with the values that hold here."""
    from dotenv import dotenv_values

    files = [Path(options.env_file)] if options.env_file else []
    files += [file for name in agents if (place := _place(name)) and (file := dotenv_near(place))]
    names = dict.fromkeys(name for file in files for name in dotenv_values(file))
    return {name: os.environ[name] for name in names if name in os.environ}


def _place(agent: str) -> Path | None:
    if Path(agent).exists():
        return Path(agent)
    file = getattr(sys.modules.get(agent.partition(":")[0]), "__file__", None)
    return Path(file) if file else None
