"""Files that others name: read, but never waited for."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


class NotAFileError(OSError):
    """Something else stands there; `strerror` says what."""

    strerror: str


def read_bytes(path: Path) -> bytes:
    """What is in a file.

    Raises:
        OSError: it cannot be read, or is none.
        ValueError: no file can be called like that.
    """
    check_file(path)
    return path.read_bytes()


def check_file(path: Path) -> None:
    """Refuses what is neither a regular file nor a pipe that is open already.

    A FIFO in a folder may have nobody at its other end, and a device need not have an end.

    Raises:
        OSError: it is none, or not there.
        ValueError: no file can be called like that.
    """
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise NotAFileError(errno.EISDIR, "is a directory, expected a file", str(path))
    if not (stat.S_ISREG(mode) or (stat.S_ISFIFO(mode) and _is_open(path))):
        raise NotAFileError(errno.EINVAL, "is not a regular file", str(path))


def real(path: Path) -> Path:
    """The path without links, as far as they lead somewhere: those that go round in circles do not."""
    return Path(os.path.realpath(path))


def _is_open(path: Path) -> bool:
    """Whether it is one of our own open files: `/dev/stdin`, or what a shell makes of `<(command)`."""
    return str(path.parent) in ("/dev/fd", "/proc/self/fd") or str(path) == "/dev/stdin"
