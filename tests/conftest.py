"""What all tests share: property tests draw the same examples every time, however slow the machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.cli_support import Project
from tests.model_server import NEUTRAL, ModelServer, serving

settings.register_profile("exact", derandomize=True, deadline=None, database=None)
settings.load_profile("exact")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project."""
    return Project(tmp_path)


@pytest.fixture
def own_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The modules that a test imports from its project, and what its `.env` sets, are forgotten after it."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    variables = dict(os.environ)
    yield
    for name, module in list(sys.modules.items()):
        places = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", [])]
        if any(Path(place).is_relative_to(tmp_path) for place in places):
            del sys.modules[name]
    os.environ.clear()
    os.environ.update(variables)


@pytest.fixture
def model_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """Model endpoints of this machine, and nothing in the environment that leads clients elsewhere."""
    for name in NEUTRAL:
        monkeypatch.delenv(name, raising=False)
    with serving() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server
