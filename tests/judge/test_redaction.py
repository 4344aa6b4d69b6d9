"""No secret is told."""

from __future__ import annotations

import pytest

from agent_eval.judge.base import Failure, ModelError
from agent_eval.judge.redaction import redacted

SECRET = "s3cr3t-value-123"

TEXTS = {
    "value of a variable": f"key {SECRET} is bad",
    "twice": f"{SECRET}{SECRET}",
    "query of a URL": "GET https://h/v1/models?alt=json&key=other-key-9 HTTP/1.1",
    "first of a query": "https://h/v1?api_key=other-key-9",
    "token": "https://h/v1?access_token=other-key-9&x=1",
    "header": "Authorization: Bearer other-key-9-and-more",
    "user in a URL": "cannot reach http://me:other-key-9@host/v1",
    "OpenAI's form": "Incorrect API key provided: sk-other-key-9.",
    "Google's form": "API key AIzaother-key-9 not valid",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_secrets_are_left_out(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("MY_API_KEY", f" {SECRET} ")
    told = redacted(text)
    assert SECRET not in told
    assert "other-key-9" not in told
    assert "***" in told


def test_longer_secret_that_begins_like_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", SECRET)
    monkeypatch.setenv("B_TOKEN", f"{SECRET}-and-more")
    assert redacted(f"{SECRET}-and-more") == "***"


@pytest.mark.parametrize(
    "text",
    [
        "ollama runs",
        "https://host:8080/v1?alt=json",
        "the key = value pairs",
        "see a@b.com",
        "Bearer of news",
    ],
)
def test_the_rest_is_told(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "ollama")
    assert redacted(text) == text


def test_errors_of_models_hold_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", SECRET)
    error = ModelError(Failure.SERVER, f"said {SECRET}")
    assert str(error) == "said ***"
    assert SECRET not in repr(error)
