"""How long to wait before something is tried again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from agent_eval import clock


def backoff(tried: int, *, first: float, longest: float, growth: float = 2.0) -> float:
    """About so many seconds after the attempt of this number: longer with each, and never twice the same."""
    steps = min(tried - 1, 64)  # more would be no number any more
    return clock.jittered(min(first * growth**steps, longest))


def asked_in_headers(headers: Mapping[str, str]) -> float | None:
    """The seconds that an HTTP response asks for; a date, the header's other form, is left to the backoff."""
    return _seconds(headers.get("retry-after"))


def asked_in_details(details: Iterable[Mapping[str, Any]]) -> float | None:
    """The seconds of a RetryInfo among the details of Google's errors, such as `"12.5s"`."""
    for detail in details:
        if found := re.fullmatch(r"(\d+(?:\.\d+)?)s", str(detail.get("retryDelay", ""))):
            return float(found[1])
    return None


def details_of(document: Any) -> list[Mapping[str, Any]]:
    """The `details` of one of Google's errors, whatever was sent."""
    error = document.get("error", document) if isinstance(document, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    return [one for one in details if isinstance(one, dict)] if isinstance(details, list) else []


def _seconds(given: Any) -> float | None:
    try:
        seconds = float(given)
    except (TypeError, ValueError):
        return None
    return max(0.0, seconds) if seconds < float("inf") else None
