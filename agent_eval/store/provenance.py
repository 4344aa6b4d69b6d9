"""What a result must say to be run again: the command, the code, the versions."""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform
import subprocess

from agent_eval.schema.result import Provenance


def provenance(command: str, seed: int) -> Provenance:
    """The provenance of a result made in this process, from this folder."""
    commit, dirty = _git_state()
    return Provenance(command=command, seed=seed, git_commit=commit, git_dirty=dirty, packages=_packages())


def _packages() -> dict[str, str]:
    """Versions of what can change a result."""
    packages = {"python": platform.python_version()}
    for name in ("adk-agent-eval", "google-adk", "google-genai", "pydantic"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            packages[name] = importlib.metadata.version(name)
    return packages


def _git_state() -> tuple[str | None, bool | None]:
    """The commit of the working folder, and whether tracked files differ from it."""

    def git(*args: str) -> str:
        return subprocess.run(
            ["git", "-c", "core.fsmonitor=false", *args],  # which may name a program
            capture_output=True,
            text=True,
            check=True,
            timeout=5,
        ).stdout.strip()

    try:
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None, None
