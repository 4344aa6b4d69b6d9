"""The only source of time, ids and seeds, so that tests can be exact."""

from __future__ import annotations

import hashlib
import secrets
import time
from datetime import UTC, datetime


def now() -> float:
    """Seconds since the epoch."""
    return time.time()


def monotonic() -> float:
    """Seconds on a clock that only runs forward, for durations."""
    return time.perf_counter()


_FIRST_MOMENT = -62_135_596_800.0
LAST_MOMENT = 253_402_300_799.0
"""The end of the year 9999, in seconds since the epoch."""


def timestamp(at: float | None = None) -> str:
    """UTC time in ISO 8601 with milliseconds, like `2026-01-31T09:30:00.250Z`.

    A moment that no calendar has is the first or the last one that it has.
    """
    at = now() if at is None else min(max(at, _FIRST_MOMENT), LAST_MOMENT)
    moment = datetime.fromtimestamp(at, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment_of(timestamp: str) -> float:
    """Seconds since the epoch of a time in ISO 8601.

    Raises:
        ValueError: it is none.
    """
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except OverflowError:  # hours that lead beyond the calendar
        raise ValueError(f"no time of the calendar: {timestamp!r}") from None


def new_id(length: int = 8) -> str:
    """A random lower-case hex id of `length` characters."""
    return secrets.token_hex((length + 1) // 2)[:length]


def jittered(seconds: float) -> float:
    """A wait of about `seconds`: from half to one and a half of it, so that waiters spread out."""
    return seconds * (0.5 + secrets.randbelow(1_000_001) / 1_000_000)


def derive_seed(seed: int, eval_id: str, run_index: int) -> int:
    """The seed of one run: the same inputs give the same 32-bit number on every machine."""
    digest = hashlib.sha256(f"{seed}\0{eval_id}\0{run_index}".encode()).digest()
    return int.from_bytes(digest[:4], "big")
