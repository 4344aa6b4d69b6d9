"""Gemini judges: the real google-genai client against a server of this machine."""

from __future__ import annotations

from typing import Any

import pytest

from agent_eval.judge.base import Failure, ModelError, Usage
from agent_eval.judge.models import open_model
from agent_eval.schema.trace import Blob, Content, Part
from tests.judge.support import VERDICT, ask_all, at, failure, image, question, replies
from tests.model_server import (
    KEY,
    Answer,
    Asked,
    ModelServer,
    blocked,
    cut_off,
    empty,
    failing,
    malformed,
    said,
    slow,
)

GEMINI = "gemini-2.5-flash"


def test_question_arrives_whole(model_server: ModelServer) -> None:
    request = question("is it?", system="be a judge", schema=VERDICT, temperature=0.0, max_output_tokens=99)
    (reply,) = replies(GEMINI, request)

    (asked,) = model_server.requests
    assert (reply.text, reply.usage, reply.is_cut_off) == ("OK", Usage(10, 5), False)
    assert (asked.model, asked.system, asked.turns) == (GEMINI, "be a judge", [("user", "is it?")])
    assert asked.schema == VERDICT
    assert asked.settings["responseMimeType"] == "application/json"
    assert (asked.settings["temperature"], asked.settings["maxOutputTokens"]) == (0.0, 99)


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("gemini-3-pro", "gemini-3-pro"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("gemma-4-it", "gemma-4-it"),
    ],
)
def test_names_that_adk_takes(model_server: ModelServer, name: str, model: str) -> None:
    replies(name, question())
    assert model_server.requests[0].model == model


def test_resources_of_vertex_are_asked_for_at_vertex(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", model_server.url)
    name = "projects/p/locations/l/endpoints/7"

    (reply,) = replies(name, question())
    assert reply.text == "OK"
    assert model_server.requests[0].model == name
    assert open_model(name).endpoint == model_server.url
    assert open_model(GEMINI).endpoint == model_server.url


@pytest.mark.parametrize("variable", ["GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE"])
def test_vertex_is_told_by_the_environment(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.delenv("GOOGLE_GEMINI_BASE_URL", raising=False)
    assert open_model(GEMINI).endpoint == "the Gemini API"
    monkeypatch.setenv(variable, "true")
    assert open_model(GEMINI).endpoint == "Vertex AI"


def test_media_are_passed_on(model_server: ModelServer) -> None:
    named = Part(inline_data=Blob(data=b"png", mime_type="image/png", display_name="cat.png"))
    parts = (named, at("gs://bucket/talk.mp3", "audio/mpeg"), image(b"%PDF", "application/pdf"))
    (reply,) = replies(GEMINI, question("look", *parts))

    assert model_server.requests[0].media == ["image/png", "audio/mpeg", "application/pdf"]
    assert reply.unseen == ()


def test_refused_media_are_left_out_and_told(model_server: ModelServer) -> None:
    model_server.always = lambda asked: failing(400, "Unsupported MIME type") if asked.media else "seen"
    archive = image(b"zip", "application/zip")
    first, second = replies(GEMINI, question("look", archive), question("again", archive))

    assert (first.text, first.unseen) == ("seen", ("application/zip",))
    assert (second.text, second.unseen) == ("seen", ("application/zip",))
    assert [bool(asked.media) for asked in model_server.requests] == [True, False, False]
    assert model_server.requests[1].prompt == "look\n[application/zip, not shown]"


def test_gemma_has_neither_schemas_nor_system_instructions(model_server: ModelServer) -> None:
    def answer(asked: Asked) -> Any:
        if "responseMimeType" in asked.settings:
            return failing(400, "JSON mode is not enabled for models/gemma-3-4b-it")
        return failing(400, "Developer instruction is not enabled for it") if asked.system else "yes"

    model_server.always = answer
    first, second = replies("gemma-3-4b-it", *[question("is it?", system="be a judge", schema=VERDICT)] * 2)

    assert (first.text, second.text) == ("yes", "yes")
    assert len(model_server.requests) == 5
    ((role, text),) = model_server.requests[-1].turns
    assert role == "user"
    assert text.startswith("be a judge\n\nAnswer with one JSON value")
    assert text.endswith("\nis it?")


def test_conversation_goes_on(model_server: ModelServer) -> None:
    request = question("one")
    contents = (*request.contents, Content(role="model", parts=[Part(text="two")]), *request.contents)
    replies(GEMINI, type(request)(contents))
    assert model_server.requests[0].turns == [("user", "one"), ("model", "two"), ("user", "one")]


def test_thoughts_are_no_answer_but_are_paid_for(model_server: ModelServer) -> None:
    model_server.answers(said({"verdict": "no"}, thoughts="perhaps yes", thought_tokens=30))
    (reply,) = replies(GEMINI, question())
    assert (reply.text, reply.usage) == ('{"verdict": "no"}', Usage(10, 35))


@pytest.mark.parametrize("text", ["", "half an ans"])
def test_cut_off_answer_is_marked(model_server: ModelServer, text: str) -> None:
    model_server.answers(cut_off(text))
    (reply,) = replies(GEMINI, question())
    assert (reply.text, reply.is_cut_off) == (text, True)


FAILURES: dict[str, tuple[Answer, Failure, str]] = {
    "quota": (failing(429, "quota exceeded"), Failure.QUOTA, "quota exceeded"),
    "wrong key": (failing(401, "who?"), Failure.CREDENTIALS, "401"),
    "no permission": (failing(403, "API disabled"), Failure.CREDENTIALS, "API disabled"),
    "key of no use": (failing(400, "not valid", reason="API_KEY_INVALID"), Failure.CREDENTIALS, "not valid"),
    "no such model": (failing(404, "models/x is not found"), Failure.NOT_FOUND, "models/x"),
    "wrong request": (failing(400, "bad field"), Failure.REFUSED, "bad field"),
    "server": (failing(500, "oops"), Failure.SERVER, "oops"),
    "overloaded": (failing(503, "overloaded"), Failure.SERVER, "503 UNAVAILABLE: overloaded"),
    "gateway": (failing(504, "late"), Failure.TIMEOUT, "504"),
    "slow": (slow(5), Failure.TIMEOUT, "no answer within 0.3 s"),
    "no JSON": (malformed(), Failure.SERVER, "JSONDecodeError"),
    "page of a proxy": (Answer(status=502, raw=b"<html>" + b"x" * 9999), Failure.SERVER, "502"),
    "prompt blocked": (blocked(prompt=True), Failure.BLOCKED, "SAFETY"),
    "answer blocked": (blocked(), Failure.BLOCKED, "SAFETY"),
    "prohibited": (said("part", finish="PROHIBITED_CONTENT"), Failure.BLOCKED, "PROHIBITED_CONTENT"),
    "no candidates": (empty(candidates=False), Failure.EMPTY, "without candidates"),
    "no text": (empty(), Failure.EMPTY, "finish reason STOP"),
    "thoughts only": (said("", thoughts="hm"), Failure.EMPTY, "without text"),
}


@pytest.mark.parametrize(("answer", "kind", "told"), FAILURES.values(), ids=FAILURES)
def test_failures(model_server: ModelServer, answer: Answer, kind: Failure, told: str) -> None:
    model_server.always = answer
    found, message = failure(GEMINI, question(http={"timeout": 300 if answer.wait else None}))

    assert found is kind
    assert told in message
    assert GEMINI in message
    assert len(message) < 700


def test_tokens_of_blocked_answers_are_counted(model_server: ModelServer) -> None:
    model_server.answers(blocked())
    (outcome,) = ask_all(GEMINI, question())
    assert isinstance(outcome, ModelError)
    assert outcome.usage == Usage(10, 5)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_transient_failures_are_tried_again(model_server: ModelServer, status: int) -> None:
    model_server.answers(failing(status), failing(status), "good")
    (reply,) = replies(GEMINI, question())
    assert reply.text == "good"
    assert len(model_server.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_other_failures_are_not(model_server: ModelServer, status: int) -> None:
    model_server.answers(failing(status), "good")
    failure(GEMINI)
    assert len(model_server.requests) == 1


@pytest.mark.parametrize(("after", "requests"), [(0.4, 2), (3600, 1)], ids=["soon", "too late"])
def test_endpoint_says_when_to_come_back(model_server: ModelServer, after: float, requests: int) -> None:
    model_server.answers(failing(429, "later", retry_after=after), "good")
    outcomes = ask_all(GEMINI, question())

    assert len(model_server.requests) == requests
    if requests == 1:
        assert isinstance(outcomes[0], ModelError)
    else:
        assert model_server.gaps[0] >= after


def test_unreachable_endpoint(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    kind, message = failure(GEMINI)
    assert kind is Failure.UNREACHABLE
    assert "ConnectError" in message or "Connector" in message


def test_missing_key(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_API_KEY")
    told = f"{GEMINI}: GEMINI_API_KEY or GOOGLE_API_KEY is not set"
    assert failure(GEMINI) == (Failure.CREDENTIALS, told)


def test_name_that_the_sdk_refuses(model_server: ModelServer) -> None:
    kind, message = failure("gemini-..")
    assert kind is Failure.REFUSED
    assert "invalid model" in message


@pytest.mark.parametrize(
    "echo",
    ["key {key} is bad", "GET https://h/v1?key={key}&alt=json", "Bearer {key}", "http://user:{key}@h/x"],
)
def test_no_key_is_told(model_server: ModelServer, echo: str) -> None:
    model_server.answers(failing(400, echo.format(key=KEY)))
    _, message = failure(GEMINI)
    assert KEY not in message
    assert "***" in message


def test_settings_of_the_transport_are_followed(model_server: ModelServer) -> None:
    http: dict[str, Any] = {"headers": {"X-Team": "blue"}, "retry_options": {"attempts": 1}}
    model_server.answers(failing(503), "good")
    failure(GEMINI, question(http=http))
    assert len(model_server.requests) == 1
    assert model_server.requests[0].headers["x-team"] == "blue"
