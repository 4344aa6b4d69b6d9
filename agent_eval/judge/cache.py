"""The judge cache: usable replies by what was asked, so that asking the same again costs nothing."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from agent_eval import clock, serde
from agent_eval.errors import InputError, Problem
from agent_eval.judge.base import Model, Reply, Request, Usage

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

DEFAULT_PATH = Path(".agent_eval/judge_cache.sqlite")

_FORMAT = 1
"""Of keys and values; entries of another are never found."""
_BUSY_SECONDS = 5.0
"""How long another process may hold the file before we go on without it."""

_NOT_ASKED = ("headers", "retry_options", "timeout")
"""Of `http_options`: how a request travels, which does not change its answer, and what may be secret."""


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What is in a cache."""

    entries: int = 0
    bytes: int = 0
    """Of its files."""
    oldest: float | None = None
    """When it was kept, in seconds since the epoch."""
    newest: float | None = None


def cache_key(model: Model, request: Request, sample: int) -> str:
    """Names a sample of a model's answer by all that decides it; no credential is part of it."""
    config = dict(request.config)
    if options := config.pop("http_options", None):
        config["http_options"] = {key: value for key, value in options.items() if key not in _NOT_ASKED}
    asked = {
        "format": _FORMAT,
        "model": model.name,
        "endpoint": model.endpoint,
        "config": config,
        "system": request.system,
        "schema": request.schema and dict(request.schema),
        "contents": [serde.model_to_json(content, compact=True).decode() for content in request.contents],
        "sample": sample,
    }
    return hashlib.sha256(serde.to_json(asked)).hexdigest()


class JudgeCache:
    """Replies in an SQLite file, which several processes may share.

    It never fails an evaluation: when the file cannot be used, `trouble` tells why, and everything
    goes on without it. The file is touched in a thread of its own; what is kept is written there later.
    """

    def __init__(self, path: Path = DEFAULT_PATH) -> None:
        self.path = path.absolute()
        self.trouble: str | None = None
        """Why it is out of use, if it is."""
        self._connection: sqlite3.Connection | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="judge-cache")
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def turn(self, key: str) -> asyncio.Lock:
        """Held while a question is looked up and asked, so that nobody asks it at the same time."""
        return self._turns.setdefault(key, asyncio.Lock())

    async def get(self, key: str) -> Reply | None:
        """The reply kept under a key."""
        return await asyncio.wrap_future(self._thread.submit(self._usable, lambda: self._read(key)))

    def keep(self, key: str, reply: Reply) -> None:
        """Keeps a reply; it is written soon."""
        self._thread.submit(self._usable, lambda: self._write(key, reply))

    async def aclose(self) -> None:
        """Writes what is still to be written, and closes the file."""
        await asyncio.wrap_future(self._thread.submit(self._close))
        self._thread.shutdown()

    def _usable(self, work: Callable[[], T]) -> T | None:
        """Does something with the file; where that fails, the cache is out of use from then on."""
        import sqlite3

        if self.trouble is not None:
            return None
        try:
            return work()
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            self.trouble = f"the judge cache {self.path} cannot be used, and is not: {error}"
            self._close()
            return None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = _connect(self.path)
        return self._connection

    def _read(self, key: str) -> Reply | None:
        row = self._open().execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else _decoded(row[0])

    def _write(self, key: str, reply: Reply) -> None:
        self._open().execute(
            "INSERT OR REPLACE INTO replies (key, kept, reply) VALUES (?, ?, ?)",
            (key, clock.now(), _encoded(reply)),
        )

    def _close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(Exception):  # what is broken need not be closed well
                self._connection.close()
            self._connection = None


def _connect(path: Path) -> sqlite3.Connection:
    """A connection that commits each statement.

    Raises:
        sqlite3.Error: the file is no database, or is held by somebody for too long.
    """
    import sqlite3

    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")  # so that nobody who reads waits for a writer
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS replies"
            " (key TEXT PRIMARY KEY, kept REAL NOT NULL, reply TEXT NOT NULL) WITHOUT ROWID"
        )
    except (sqlite3.Error, UnicodeDecodeError):  # of a name in it that is no text
        connection.close()
        raise
    return connection


def _encoded(reply: Reply) -> str:
    document = {
        "text": reply.text,
        "input_tokens": reply.usage.input_tokens,
        "output_tokens": reply.usage.output_tokens,
        "unseen": list(reply.unseen),
    }
    return serde.to_json(document).decode()


def _decoded(text: str) -> Reply | None:
    """The reply; None if that is none of ours."""
    try:
        document: dict[str, Any] = serde.from_json(text)
        reply = Reply(
            text=document["text"],
            usage=Usage(document["input_tokens"], document["output_tokens"]),
            unseen=tuple(document["unseen"]),
        )
        is_ours = isinstance(reply.text, str) and all(isinstance(one, str) for one in reply.unseen)
        counts = (reply.usage.input_tokens, reply.usage.output_tokens)
        return reply if is_ours and all(type(one) is int for one in counts) else None
    except (ValueError, TypeError, KeyError):
        return None


def stats(path: Path = DEFAULT_PATH) -> CacheStats:
    """What a cache holds; nothing if there is none.

    Raises:
        InputError: the file cannot be read as a cache.
    """
    if not path.is_file():
        return CacheStats()
    with _opened(path) as connection:
        counted = connection.execute("SELECT COUNT(*), MIN(kept), MAX(kept) FROM replies")
        entries, oldest, newest = counted.fetchone()
    return CacheStats(entries, _size(path), oldest, newest)


def clear(path: Path = DEFAULT_PATH) -> CacheStats:
    """Empties a cache, and tells what was in it. A file that is damaged is removed.

    Raises:
        InputError: it cannot be emptied.
    """
    try:
        held = stats(path)
    except InputError as error:
        if not _is_damaged(error.__cause__):
            raise
        held = CacheStats(0, _size(path))
        for file in _files(path):
            file.unlink()
        return held
    if path.is_file():
        with _opened(path) as connection:
            connection.execute("DELETE FROM replies")
            connection.execute("VACUUM")
    return held


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    import sqlite3

    try:
        with contextlib.closing(_connect(path)) as connection:
            yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:
        hint = "`agent-eval cache clear` removes it" if _is_damaged(error) else None
        raise InputError(Problem(f"not usable as judge cache: {error}", str(path), hint=hint)) from error


def _is_damaged(error: BaseException | None) -> bool:
    import sqlite3

    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, UnicodeDecodeError) or code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


def _files(path: Path) -> list[Path]:
    """The database and what SQLite keeps beside it."""
    return [file for end in ("", "-wal", "-shm") if (file := path.with_name(path.name + end)).is_file()]


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in _files(path))
