"""How often an endpoint is asked again, and after how long."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_eval.judge.base import Failure, ModelError
from agent_eval.judge.retries import EndpointError, Patience, patiently


def error(status: int | None, failure: Failure = Failure.SERVER, after: float | None = None) -> EndpointError:
    return EndpointError(failure, "no", status=status, retry_after=after)


def test_settings_have_the_names_of_http_options() -> None:
    given = {
        "timeout": 1500,
        "retry_options": {
            "attempts": 2,
            "initial_delay": 0.5,
            "exp_base": 3.0,
            "max_delay": 4.0,
            "http_status_codes": [418],
        },
    }
    assert Patience.of({"http_options": given}) == Patience(2, 0.5, 3.0, 4.0, frozenset({418}), 1.5)
    assert Patience.of({}) == Patience() == Patience.of({"http_options": {"retry_options": None}})


@pytest.mark.parametrize(
    ("failed", "low", "high"),
    [
        (error(429), 0.5, 1.5),
        (error(503), 0.5, 1.5),
        (error(None, Failure.UNREACHABLE), 0.5, 1.5),
        (error(429, after=7.5), 7.5, 7.5),
        (error(429, after=0.0), 0.0, 0.0),
    ],
)
def test_first_wait(failed: EndpointError, low: float, high: float) -> None:
    wait = Patience().wait(failed, 1)
    assert wait is not None
    assert low <= wait <= high


def test_waits_grow_up_to_a_limit() -> None:
    patience = Patience(attempts=99)
    for tried, middle in ((2, 2), (3, 4), (4, 8), (8, 60), (50, 60)):
        wait = patience.wait(error(500), tried)
        assert wait is not None
        assert middle / 2 <= wait <= middle * 1.5


@pytest.mark.parametrize(
    "failed",
    [
        error(400, Failure.REFUSED),
        error(404, Failure.NOT_FOUND),
        error(501, Failure.REFUSED),
        error(None, Failure.TIMEOUT),
        error(429, Failure.QUOTA, after=61.0),
    ],
)
def test_what_would_not_help_is_not_tried(failed: EndpointError) -> None:
    assert Patience().wait(failed, 1) is None


def run(patience: Patience, *outcomes: Any) -> tuple[Any, int]:
    """What comes of these attempts, and how many were made."""
    left = list(outcomes)

    async def attempt() -> Any:
        outcome = left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    try:
        return asyncio.run(patiently("m", patience, attempt)), len(outcomes) - len(left)
    except ModelError as failed:
        return failed, len(outcomes) - len(left)


QUICK = Patience(attempts=3, first_wait=0.001)


def test_last_failure_is_the_one_that_counts() -> None:
    last = error(503)
    assert run(QUICK, error(500), error(429), last, "never") == (last, 3)
    assert run(QUICK, error(500), "good") == ("good", 2)
    assert run(Patience(attempts=1), last, "never") == (last, 1)


def test_attempt_that_takes_too_long() -> None:
    async def attempt() -> None:
        await asyncio.sleep(5)

    with pytest.raises(ModelError, match="m: no answer within 0") as caught:
        asyncio.run(patiently("m", Patience(timeout=0.05), attempt))
    assert caught.value.failure is Failure.TIMEOUT


def test_cancellation_passes() -> None:
    async def story() -> None:
        async def attempt() -> None:
            raise error(503)

        task = asyncio.ensure_future(patiently("m", Patience(), attempt))
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(story())
