"""Projects that are watched."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.security.support import Spied


@pytest.fixture
def desk(tmp_path: Path) -> Spied:
    """The project, of which nothing was run."""
    return Spied(tmp_path)


@pytest.fixture(scope="session")
def _finished(tmp_path_factory: pytest.TempPathFactory) -> Spied:
    made = Spied(tmp_path_factory.mktemp("finished"))
    for _ in range(2):
        assert made.agent_eval("run", "bot", "orders.evalset.json", "--config", "coded.json").code == 0
    made.forget()
    return made


@pytest.fixture
def ran(_finished: Spied, tmp_path: Path) -> Spied:
    """It has two results."""
    shutil.copytree(_finished.root, tmp_path / "desk")
    return Spied(tmp_path)
