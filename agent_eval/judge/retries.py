"""Asking an endpoint again: how often, after how long, and for which failures."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from agent_eval.judge.base import Failure, ModelError
from agent_eval.load.backoff import backoff

T = TypeVar("T")

_TRANSIENT_FAILURES = (Failure.UNREACHABLE, Failure.SERVER)
"""Without a status: nobody was there, or what came cannot be read."""

TRANSIENT = frozenset({408, 429, *range(500, 600)}) - {501}
"""HTTP statuses after which the same request may succeed."""


class EndpointError(ModelError):
    """An endpoint did not do what it was asked."""

    def __init__(
        self, failure: Failure, message: str, *, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(failure, message)
        self.status = status
        """Of HTTP; None if there was no response."""
        self.retry_after = retry_after
        """Seconds after which the endpoint wants to be asked again."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one request may take, and how often it is tried."""

    attempts: int = 5
    first_wait: float = 1.0
    """Seconds before the second attempt; it grows with each."""
    growth: float = 2.0
    longest_wait: float = 60.0
    """Seconds; an endpoint that asks for more is given up at once."""
    statuses: frozenset[int] = TRANSIENT
    timeout: float = 120.0
    """Seconds of one attempt."""

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Patience:
        """As `http_options` of a model's settings say; what they leave out is as above."""
        options = config.get("http_options") or {}
        retry = options.get("retry_options") or {}
        given: dict[str, Any] = {
            "attempts": retry.get("attempts"),
            "first_wait": retry.get("initial_delay"),
            "growth": retry.get("exp_base"),
            "longest_wait": retry.get("max_delay"),
            "statuses": frozenset(retry.get("http_status_codes") or ()) or None,
            "timeout": options["timeout"] / 1000 if options.get("timeout") else None,
        }
        return cls(**{name: value for name, value in given.items() if value is not None})

    def wait(self, error: EndpointError, tried: int) -> float | None:
        """Seconds before the next attempt; None if there is to be none.

        What took too long is not sent again, as it would take as long again.
        """
        may_pass = error.status in self.statuses if error.status else error.failure in _TRANSIENT_FAILURES
        if not may_pass or tried >= self.attempts:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.longest_wait else None
        return backoff(tried, first=self.first_wait, longest=self.longest_wait, growth=self.growth)


async def patiently(name: str, patience: Patience, attempt: Callable[[], Awaitable[T]]) -> T:
    """What the first attempt gives that does not fail for a while only; `name` is the model's, for messages.

    Raises:
        ModelError: the last one failed, and how.
    """
    tried = 0
    while True:
        tried += 1
        try:
            return await _in_time(name, patience.timeout, attempt)
        except EndpointError as error:
            wait = patience.wait(error, tried)
            if wait is None:
                raise
        await asyncio.sleep(wait)


async def _in_time(name: str, seconds: float, attempt: Callable[[], Awaitable[T]]) -> T:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await attempt()
    except TimeoutError:
        if not limit.expired():
            raise
        raise EndpointError(Failure.TIMEOUT, f"{name}: no answer within {seconds:g} s") from None
