"""What all HTTP endpoints of models have in common."""

from __future__ import annotations

from agent_eval.judge.base import Failure

_BY_STATUS = {
    401: Failure.CREDENTIALS,
    403: Failure.CREDENTIALS,
    404: Failure.NOT_FOUND,
    408: Failure.TIMEOUT,
    429: Failure.QUOTA,
    501: Failure.REFUSED,
    504: Failure.TIMEOUT,
}

_HTTP_LIBRARIES = frozenset({"httpx", "httpx2", "httpcore", "httpcore2", "aiohttp", "anyio", "requests"})


def failure_of_status(status: int | None) -> Failure:
    """What an HTTP status says; a status that is neither success nor known is the server's failure."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return Failure.REFUSED if status is not None and 400 <= status < 500 else Failure.SERVER


def transport_failure(error: BaseException) -> Failure | None:
    """What an exception of an HTTP library, or of reading what it got, says; None if it is neither.

    SDKs choose among several libraries, so that names are what can be relied on.
    """
    classes = type(error).__mro__
    if any("JSONDecode" in cls.__name__ for cls in classes):
        return Failure.SERVER  # its answer cannot be read
    if any("Timeout" in cls.__name__ for cls in classes):
        connecting = any("ConnectTimeout" in cls.__name__ for cls in classes)
        return Failure.UNREACHABLE if connecting else Failure.TIMEOUT
    if isinstance(error, OSError) or any(
        cls.__module__.partition(".")[0] in _HTTP_LIBRARIES for cls in classes
    ):
        return Failure.UNREACHABLE
    return None


_LONGEST = 500
"""Characters of a foreign text in a message."""


def brief(told: object) -> str:
    """A text of an endpoint's, cut where it goes on for long, as the pages of proxies do."""
    text = " ".join(str(told).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
