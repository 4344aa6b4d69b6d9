"""Files of environment variables."""

from __future__ import annotations

from pathlib import Path

from agent_eval.errors import InputError, Problem


def load_env_file(path: Path) -> None:
    """Sets what a file of `KEY=value` lines says, where the environment does not say otherwise.

    Raises:
        InputError: there is no such file, or no environment can hold what is in it.
    """
    if not path.is_file():
        raise InputError(
            Problem("no such file", str(path), hint="--env_file names a file of KEY=value lines")
        )
    from dotenv import load_dotenv  # few agents have one

    try:
        load_dotenv(path, override=False)
    except (OSError, ValueError) as error:  # bytes that are no UTF-8, or NUL in a value
        raise InputError(Problem(f"cannot be read: {error}", str(path))) from None
