"""`[tool.agent-eval]` in pyproject.toml: where a project keeps its agents and eval sets."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, ValidationError

from agent_eval.errors import InputError, Problem
from agent_eval.inputs import documents
from agent_eval.schema.base import Value
from agent_eval.schema.result import TokenPrices

DEFAULT_AGENT_FOLDERS = (".", "sample_agents", "agents", "app")
DEFAULT_EVALSET_FOLDERS = ("evalsets", "tests/eval/evalsets")

Folders = Annotated[
    tuple[str, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)
]


class ProjectSettings(Value):
    """What the table may say; every path is relative to the file."""

    model_config = ConfigDict(alias_generator=lambda name: name.replace("_", "-"))

    agent: str | None = None
    """The agent to evaluate where none is named."""
    agents: Folders = DEFAULT_AGENT_FOLDERS
    """Folders that hold agents."""
    evalsets: Folders = DEFAULT_EVALSET_FOLDERS
    """Folders that hold the eval sets of `--all`."""
    judge_prices: dict[str, TokenPrices] = {}
    """Of judge models, by name; any currency."""


class Project:
    """The folder that paths are relative to, and its settings."""

    def __init__(self, root: Path, settings: ProjectSettings, file: Path | None) -> None:
        self.root = root
        self.settings = settings
        self.file = file
        """The pyproject.toml with the table; None if there is none."""


def find_project() -> Project:
    """The nearest pyproject.toml upwards that has the table; else the current folder, with defaults.

    The root is relative to the current folder, and so are the paths found from it.

    Raises:
        InputError: the file is not TOML, or the table has a key or value that is not known.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            text = documents.decode(documents.read_bytes(file), str(file))
            if "agent-eval" not in text:
                continue  # most have no such table: not worth parsing
            try:
                tools = tomllib.loads(text).get("tool")
            except (ValueError, RecursionError) as error:  # of dates and numbers too, as they come
                raise InputError(Problem(f"not TOML: {error}", str(file))) from None
            table = tools.get("agent-eval") if isinstance(tools, dict) else None
            if table is not None:
                return Project(Path(os.path.relpath(folder)), _settings(table, file), file)
    return Project(Path(), ProjectSettings(), None)


def _settings(table: object, file: Path) -> ProjectSettings:
    try:
        return ProjectSettings.model_validate(table)
    except ValidationError as error:
        raise documents.invalid(error, (ProjectSettings,), "", table, f"{file} [tool.agent-eval]") from None
