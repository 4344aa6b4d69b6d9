"""The files that an agent is made of."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

ENDINGS = {".py", ".json", ".yaml", ".yml", ".toml", ".md", ".txt", ".jinja", ".env"}


def source_files(reference: str) -> Iterator[Path]:
    """The files behind a reference: of the agent's folder, or the module that it names, here.

    Modules that it imports from elsewhere are not among them.
    """
    path = Path(reference)
    if not path.exists():
        module = Path(*reference.partition(":")[0].split("."))
        path = module if module.is_dir() else module.with_suffix(".py")
    if path.is_file():
        yield path
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith((".", "__"))]
        for name in names:
            file = Path(folder, name)
            if file.suffix in ENDINGS or name == ".env":
                yield file


def sources_sha256(reference: str) -> str | None:
    """A digest of these files, their names and what is in them; None if there are none."""
    files = sorted(source_files(reference))
    digest = hashlib.sha256()
    for file in files:
        with suppress(OSError):  # such as one that was there a moment ago
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            digest.update(f"{file.as_posix()}\0{content}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest() if files else None
