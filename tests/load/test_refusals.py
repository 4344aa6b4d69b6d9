"""Which errors say that an endpoint was asked too much, and what else they say."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from google.genai import errors
from openai import RateLimitError

from agent_eval.load.refusals import Refusal, host_of, refusal_of

URL = "https://user:secret@models.example:8443/v1/chat?key=secret"


class AnyError(Exception):
    """An error with attributes."""

    def __init__(self, message: str = "no", **attributes: Any) -> None:
        super().__init__(message)
        for name, value in attributes.items():
            setattr(self, name, value)


class ResourceExhausted(Exception):  # noqa: N818 - its name
    """As in google.api_core."""


class GrpcError(Exception):
    def code(self) -> Any:
        return AnyError(name="RESOURCE_EXHAUSTED")


class BrokenError(Exception):
    @property
    def status_code(self) -> int:
        raise ValueError("no status")


def response(status: int = 429, **headers: str) -> httpx.Response:
    return httpx.Response(status, headers=headers, request=httpx.Request("POST", URL), json={})


def raised_from(cause: Exception | None, *, context: Exception | None = None) -> Exception:
    error = RuntimeError("the agent failed")
    error.__cause__ = cause
    error.__context__ = context
    error.__suppress_context__ = cause is not None
    return error


def gemini(code: int, *details: dict[str, Any]) -> errors.ClientError:
    body = {
        "error": {"code": code, "status": "RESOURCE_EXHAUSTED", "message": "no", "details": list(details)}
    }
    return errors.ClientError(code, body)


def openai(code: str | None) -> RateLimitError:
    return RateLimitError("no", response=response(), body={"code": code})


HERE = "models.example:8443"

REFUSALS: dict[str, tuple[BaseException, Refusal | None]] = {
    "status_code": (AnyError(status_code=429), Refusal()),
    "code as text": (AnyError(code="429"), Refusal()),
    "status name": (AnyError(status="RESOURCE_EXHAUSTED"), Refusal()),
    "type name": (ResourceExhausted(), Refusal()),
    "grpc": (GrpcError(), Refusal()),
    "own retry_after": (AnyError(status_code=429, retry_after=2), Refusal("", 2.0)),
    "response": (AnyError(response=response()), Refusal(HERE)),
    "httpx": (httpx.HTTPStatusError("no", request=response().request, response=response()), Refusal(HERE)),
    "retry-after": (AnyError(response=response(**{"retry-after": "1.5"})), Refusal(HERE, 1.5)),
    "retry-after, negative": (AnyError(response=response(**{"retry-after": "-3"})), Refusal(HERE, 0.0)),
    "retry-after, a date": (
        AnyError(response=response(**{"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"})),
        Refusal(HERE),
    ),
    "retry-after, endless": (AnyError(response=response(**{"retry-after": "inf"})), Refusal(HERE)),
    "gemini": (gemini(429, {"retryDelay": "12.5s"}), Refusal("", 12.5)),
    "gemini, no details": (gemini(429), Refusal()),
    "openai": (openai("rate_limit_exceeded"), Refusal(HERE)),
    "openai, nothing left to spend": (openai("insufficient_quota"), None),
    "cause": (raised_from(AnyError(status_code=429)), Refusal()),
    "context": (raised_from(None, context=AnyError(status_code=429)), Refusal()),
    "context of another cause": (raised_from(ValueError(), context=AnyError(status_code=429)), None),
    "group": (ExceptionGroup("two", [ValueError(), AnyError(status_code=429)]), Refusal()),
    "other status": (AnyError(status_code=500), None),
    "true is no status": (AnyError(status_code=True), None),
    "plain": (ValueError("429"), None),
    "broken": (BrokenError(), None),
}


@pytest.mark.parametrize(("error", "refusal"), REFUSALS.values(), ids=REFUSALS)
def test_refusals_are_known_by_their_status_or_type(error: BaseException, refusal: Refusal | None) -> None:
    assert refusal_of(error) == refusal


def test_causes_that_lead_in_a_circle_end() -> None:
    first, second = ValueError(), KeyError()
    first.__cause__, second.__cause__ = second, first

    assert refusal_of(first) is None


def test_place_has_nothing_secret() -> None:
    assert host_of(URL) == HERE
    assert host_of("http://localhost") == "localhost"


@pytest.mark.parametrize(
    "url", ["", "no address", "http://a\x1b[2Jb/", "http://\ud800/", f"http://{'a' * 300}/"]
)
def test_what_is_no_host_is_no_place(url: str) -> None:
    assert host_of(url) == ""


def test_what_was_handled_meanwhile_is_no_cause() -> None:
    first = AnyError(status_code=429)

    assert refusal_of(raised_from(None, context=first), handling=first) is None
    assert refusal_of(AnyError(status_code=429), handling=first) == Refusal()
