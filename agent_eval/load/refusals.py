"""Errors by which an endpoint says that it was asked too much (HTTP 429), whoever's exception it is."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from agent_eval.load.backoff import asked_in_details, asked_in_headers, details_of

EVERYWHERE = ""
"""Where nobody said which endpoint it was."""

TOO_MANY = 429
_STATUS_NAMES = {"429", "RESOURCE_EXHAUSTED", "TOO_MANY_REQUESTS"}
_TYPE_NAMES = {
    "RateLimitError",
    "RateLimitException",
    "RateLimitExceeded",
    "ResourceExhausted",
    "ThrottlingException",
    "TooManyRequests",
    "TooManyRequestsError",
    "TooManyRequestsException",
}
_UNTIL_SOMEBODY_PAYS = "insufficient_quota"
"""What no wait helps against."""
_HOST = re.compile(r"[\w.:%-]{1,253}", re.ASCII)
_DEPTH = 8
"""How far the causes of an error are looked into."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An endpoint was asked too much."""

    place: str = EVERYWHERE
    """Which: a host, if the error tells."""
    asked: float | None = None
    """Seconds after which it wants to be asked again, if it says so."""


def refusal_of(error: BaseException, handling: BaseException | None = None) -> Refusal | None:
    """What an error says of it; None if it is of another kind.

    It is one if the error, a cause of it or a member of its group has the status 429 or the name of such
    an error. A quota that is used up for good is none: no wait helps.

    Args:
        error: the error.
        handling: one that was handled when it was raised, and is no cause of it.
    """
    for one in _chain(error, handling):
        if _value(one, "code") == _UNTIL_SOMEBODY_PAYS:
            return None
        if _is_refusal(one):
            return Refusal(_place(one), _asked(one))
    return None


def _chain(error: BaseException, handling: BaseException | None) -> Iterator[BaseException]:
    """The error, then what led to it."""
    seen: list[BaseException | None] = [handling]
    level: list[BaseException] = [error]
    for _ in range(_DEPTH):
        found: list[BaseException] = []
        for one in level:
            if one in seen:
                continue
            seen.append(one)
            yield one
            members = one.exceptions if isinstance(one, BaseExceptionGroup) else ()
            context = None if one.__suppress_context__ else one.__context__
            found += [other for other in (*members, one.__cause__, context) if other is not None]
        level = found


def _is_refusal(error: BaseException) -> bool:
    response = _value(error, "response")
    statuses = [_value(error, name) for name in ("status_code", "code", "status", "http_status")]
    if any(_is_status(status) for status in (*statuses, _value(response, "status_code"))):
        return True
    return any(cls.__name__ in _TYPE_NAMES for cls in type(error).__mro__)


def _is_status(status: Any) -> bool:
    if callable(status):  # as that of gRPC's errors
        with contextlib.suppress(Exception):
            status = getattr(status(), "name", None)
    if isinstance(status, str):
        return status.upper() in _STATUS_NAMES
    return isinstance(status, int) and status == TOO_MANY


def _place(error: BaseException) -> str:
    """The host that an error's response came from."""
    for holder in (_value(error, "response"), error):
        request = _value(holder, "request")
        for url in (_value(request, "url"), _value(holder, "url")):
            with contextlib.suppress(Exception):
                if url is not None and (place := host_of(str(url))):
                    return place
    return EVERYWHERE


def host_of(url: str) -> str:
    """Host and port of an address, and nothing secret that may stand beside them."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or EVERYWHERE, parts.port
    except ValueError:
        return EVERYWHERE
    if not _HOST.fullmatch(host):
        return EVERYWHERE
    return f"{host}:{port}" if port else host


def _asked(error: BaseException) -> float | None:
    given = _value(error, "retry_after")
    if isinstance(given, int | float):
        return max(0.0, float(given)) if given < float("inf") else None
    headers = _value(_value(error, "response"), "headers")
    if headers is not None:
        with contextlib.suppress(Exception):  # of a client with other ideas of headers
            if (asked := asked_in_headers(headers)) is not None:
                return asked
    return asked_in_details(details_of(_value(error, "details")))


def _value(holder: Any, name: str) -> Any:
    """An attribute, whatever looking for it does."""
    try:
        return getattr(holder, name, None)
    except Exception:
        return None
