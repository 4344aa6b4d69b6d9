"""Judges behind OpenAI-compatible endpoints: the real openai client against a server of this machine."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from agent_eval.errors import InputError
from agent_eval.judge.base import Failure, ModelError, Request, Usage
from agent_eval.judge.models import check_settings, open_model
from agent_eval.schema.trace import Content, Part
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

LOCAL = "openai/org/local"


def test_question_arrives_whole(model_server: ModelServer) -> None:
    settings = {"temperature": 0.0, "top_p": 0.5, "top_k": 3, "seed": 7, "stop_sequences": ["END"]}
    thoughts = {"thinking_config": {"thinking_budget": 0}}  # of Gemini only
    http = {"headers": {"X-Team": "blue"}, "extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}
    request = question(
        "is it?", system="be a judge", schema=VERDICT, max_output_tokens=99, http=http, **settings, **thoughts
    )
    (reply,) = replies(LOCAL, request)

    (asked,) = model_server.requests
    assert (reply.text, reply.usage, reply.is_cut_off) == ("OK", Usage(10, 5), False)
    assert (asked.model, asked.system, asked.turns) == ("org/local", "be a judge", [("user", "is it?")])
    assert asked.headers["x-team"] == "blue"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.settings == {
        "temperature": 0.0,
        "top_p": 0.5,
        "top_k": 3,
        "seed": 7,
        "stop": ["END"],
        "max_tokens": 99,
        "chat_template_kwargs": {"enable_thinking": False},
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": VERDICT, "strict": True},
        },
    }


OPEN = {key: value for key, value in VERDICT.items() if key != "additionalProperties"}
OPTIONAL = {**VERDICT, "required": []}
NESTED = {**VERDICT, "properties": {"verdict": OPEN}}


@pytest.mark.parametrize("schema", [OPEN, OPTIONAL, NESTED], ids=["open", "optional", "nested"])
def test_schema_that_strict_ones_may_not_be_is_not_strict(model_server: ModelServer, schema: Any) -> None:
    replies(LOCAL, question(schema=schema))
    assert model_server.requests[0].settings["response_format"]["json_schema"]["strict"] is False


def test_conversation_goes_on(model_server: ModelServer) -> None:
    one = Content(role="user", parts=[Part(text="one"), Part(text="more")])
    two = Content(role="model", parts=[Part(text="hm", thought=True), Part(text="two")])
    replies(LOCAL, Request((one, two, one)))
    assert model_server.requests[0].turns == [
        ("user", "one\n\nmore"),
        ("model", "two"),
        ("user", "one\n\nmore"),
    ]


def test_own_endpoint_needs_no_key(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    (reply,) = replies(LOCAL, question())
    assert reply.text == "OK"
    assert open_model(LOCAL).endpoint == f"{model_server.url}/v1"


def test_openai_itself_needs_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    assert failure("openai/gpt-5") == (Failure.CREDENTIALS, "openai/gpt-5: OPENAI_API_KEY is not set")
    assert open_model("openai/gpt-5").endpoint == "https://api.openai.com/v1"


def test_endpoint_is_named_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://me:secret@host:8080/v1/?api-version=3&key=secret")
    assert open_model(LOCAL).endpoint == "https://host:8080/v1"


# What an endpoint does not understand


def test_schema_that_is_refused_is_put_into_words_from_then_on(model_server: ModelServer) -> None:
    def answer(asked: Asked) -> Any:
        refused = "response_format" in asked.settings
        return failing(400, "response_format is not supported") if refused else {"verdict": "yes"}

    model_server.always = answer
    first, second = replies(LOCAL, question(schema=VERDICT, system="judge"), question("b", schema=VERDICT))

    assert (first.text, second.text) == ('{"verdict": "yes"}',) * 2
    assert [bool(asked.schema) for asked in model_server.requests] == [True, True, False, False]
    assert model_server.requests[2].system.startswith("judge\n\nAnswer with one JSON value")
    assert '"verdict"' in model_server.requests[3].system


def test_schema_in_the_form_of_llama_cpp_python_which_fails_at_the_other(model_server: ModelServer) -> None:
    def answer(asked: Asked) -> Any:
        refused = asked.settings["response_format"]["type"] != "json_object"
        told = "1 validation error: 'loc': ('body', 'response_format', 'type')"
        return failing(500, told) if refused else {"verdict": "yes"}

    model_server.always = answer
    replies(LOCAL, question(schema=VERDICT), question("b", schema=VERDICT))

    forms = [asked.settings["response_format"]["type"] for asked in model_server.requests]
    assert forms == ["json_schema", "json_object", "json_object"]
    assert model_server.requests[1].settings["response_format"]["schema"] == VERDICT
    assert "JSON Schema" in model_server.requests[1].system


def test_limit_under_its_newer_name(model_server: ModelServer) -> None:
    def answer(asked: Asked) -> Any:
        told = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        return failing(400, told) if "max_tokens" in asked.settings else "yes"

    model_server.always = answer
    replies(LOCAL, question(max_output_tokens=5, schema=VERDICT), question(max_output_tokens=6))
    names = ("max_tokens", "max_completion_tokens")
    assert [[asked.settings.get(name) for name in names] for asked in model_server.requests] == [
        [5, None],
        [None, 5],
        [None, 6],
    ]
    assert model_server.requests[1].schema == VERDICT


def test_system_message_where_there_is_no_such_role(model_server: ModelServer) -> None:
    model_server.always = lambda asked: failing(400, "System role not supported") if asked.system else "yes"
    replies(LOCAL, question("is it?", system="be a judge", schema=VERDICT))
    assert model_server.requests[1].turns == [("user", "be a judge\n\nis it?")]
    assert model_server.requests[1].schema == VERDICT


def test_request_that_is_wrong_all_the_same_is_refused_as_it_is(model_server: ModelServer) -> None:
    model_server.always = failing(400, "context is too long")
    request = question(image(), schema=VERDICT)
    (first, second) = ask_all(LOCAL, request, request)

    assert isinstance(first, ModelError)
    assert first.failure is Failure.REFUSED
    assert "context is too long" in str(first)
    assert isinstance(second, ModelError)
    tried = [(bool(asked.media), bool(asked.schema)) for asked in model_server.requests]
    forms = [True, True, False]  # two forms of a schema, then none
    once = [(media, schema) for media in (True, False) for schema in forms]
    assert tried == once * 2  # nothing was learnt


# Media


def test_media_have_the_forms_of_chat_messages(model_server: ModelServer) -> None:
    parts = (
        image(b"png"),
        at("https://host/cat.png", "image/png"),
        image(b"RIFF", "audio/x-wav"),
        image(b"ID3", "audio/mpeg"),
        image(b"%PDF", "application/pdf"),
    )
    (reply,) = replies(LOCAL, question("look", *parts))

    (asked,) = model_server.requests
    assert asked.media == ["image/png", "https://host/cat.png", "audio/wav", "audio/mp3", "application/pdf"]
    assert asked.prompt == "look"
    assert reply.unseen == ()


def test_media_without_a_form_are_told(model_server: ModelServer) -> None:
    parts = (image(b"mp4", "video/mp4"), at("gs://bucket/cat.png", "image/png"), image(b"ok"))
    (reply,) = replies(LOCAL, question("look", *parts))

    assert reply.unseen == ("image/png", "video/mp4")
    assert model_server.requests[0].media == ["image/png"]
    assert model_server.requests[0].prompt == "look\n[video/mp4, not shown]\n[image/png, not shown]"


BLIND: dict[str, Answer] = {
    "400": failing(400, "At most 0 image(s) may be provided in one request."),
    "415": failing(415, "unsupported media type"),
    "422": failing(422, "content must be a string"),
    "500": failing(500, "image input is not supported - hint: you may need to provide the mmproj"),
    "501": failing(501, "not implemented"),
}


@pytest.mark.parametrize("refusal", BLIND.values(), ids=BLIND)
def test_model_without_eyes_is_asked_without_media(model_server: ModelServer, refusal: Answer) -> None:
    model_server.always = lambda asked: refusal if asked.media else "no idea"
    (reply,) = replies(LOCAL, question("look", image()))
    assert (reply.text, reply.unseen) == ("no idea", ("image/png",))


def test_type_that_is_never_taken_is_not_tried_forever(model_server: ModelServer) -> None:
    model_server.always = lambda asked: failing(400, "no images") if asked.media else "no idea"
    asked = replies(LOCAL, *(question(image(bytes([number]))) for number in range(5)))

    assert [reply.unseen for reply in asked] == [("image/png",)] * 5
    assert sum(bool(request.media) for request in model_server.requests) == 3


def test_broken_image_hides_no_other(model_server: ModelServer) -> None:
    model_server.always = lambda asked: (
        failing(400, "bad image") if b"YmFk".decode() in str(asked.body) else "ok"
    )
    requests = [question(image(b"good"))] + [question(image(b"bad" + bytes([n]))) for n in range(4)]
    asked = replies(LOCAL, *requests, question(image(b"fine")))

    assert [bool(reply.unseen) for reply in asked] == [False, True, True, True, True, False]


# Answers


def test_thoughts_in_a_field_of_their_own_are_no_answer(model_server: ModelServer) -> None:
    model_server.answers(said({"verdict": "no"}, thoughts="perhaps yes"))
    (reply,) = replies(LOCAL, question())
    assert (reply.text, reply.usage) == ('{"verdict": "no"}', Usage(10, 12))


def test_answer_as_a_list_of_pieces(model_server: ModelServer) -> None:
    content = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "yes"},
    ]
    body = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": content}}]}
    model_server.answers(Answer.document(body))
    (reply,) = replies(LOCAL, question())
    assert (reply.text, reply.usage) == ("yes", Usage())


CUT_OFF: dict[str, tuple[Answer, str]] = {
    "without a word": (cut_off(""), ""),
    "half": (cut_off("half an ans"), "half an ans"),
    "all thoughts": (failing(400, "max_tokens or model output limit was reached"), ""),
}


@pytest.mark.parametrize(("answer", "text"), CUT_OFF.values(), ids=CUT_OFF)
def test_cut_off_answer_is_marked(model_server: ModelServer, answer: Answer, text: str) -> None:
    model_server.answers(answer)
    (reply,) = replies(LOCAL, question())
    assert (reply.text, reply.is_cut_off) == (text, True)


REFUSAL = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"refusal": "I won't"}}]}

FAILURES: dict[str, tuple[Answer, Failure, str]] = {
    "quota": (failing(429, "rate limit"), Failure.QUOTA, "rate limit"),
    "wrong key": (
        failing(401, "Incorrect API key provided: sk-abc***xyz"),
        Failure.CREDENTIALS,
        "key provided: ***",
    ),
    "no permission": (failing(403, "not you"), Failure.CREDENTIALS, "not you"),
    "no such model": (failing(404, "model 'local' not found"), Failure.NOT_FOUND, "not found"),
    "wrong request": (failing(400, "bad field"), Failure.REFUSED, "bad field"),
    "server": (failing(500, "oops"), Failure.SERVER, "oops"),
    "gateway": (failing(504, "late"), Failure.TIMEOUT, "504"),
    "slow": (slow(5), Failure.TIMEOUT, "no answer within 0.3 s"),
    "no JSON": (malformed(), Failure.SERVER, "JSON"),
    "page with status 200": (Answer(raw=b"<html>log in"), Failure.SERVER, "<html>log in"),
    "error with status 200": (Answer.document({"error": {"message": "down"}}), Failure.SERVER, "down"),
    "page of a proxy": (Answer(status=502, raw=b"<html>" + b"x" * 9999), Failure.SERVER, "502"),
    "blocked": (blocked(), Failure.BLOCKED, "content_filter"),
    "prompt blocked": (failing(400, "filtered", reason="content_filter"), Failure.BLOCKED, "filtered"),
    "refusal": (Answer.document(REFUSAL), Failure.BLOCKED, "I won't"),
    "no choices": (empty(candidates=False), Failure.EMPTY, "without choices"),
    "no text": (empty(), Failure.EMPTY, "finish reason stop"),
    "thoughts only": (said("", thoughts="hm"), Failure.EMPTY, "without text"),
}


@pytest.mark.parametrize(("answer", "kind", "told"), FAILURES.values(), ids=FAILURES)
def test_failures(model_server: ModelServer, answer: Answer, kind: Failure, told: str) -> None:
    model_server.always = answer
    found, message = failure(LOCAL, question(http={"timeout": 300 if answer.wait else None}))

    assert found is kind
    assert told in message
    assert LOCAL in message
    assert len(message) < 700


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_transient_failures_are_tried_again(model_server: ModelServer, status: int) -> None:
    model_server.answers(failing(status), failing(status), "good")
    (reply,) = replies(LOCAL, question())
    assert reply.text == "good"


UNCHANGED = {
    "wrong key": failing(401),
    "no such model": failing(404),
    "nothing left to spend": failing(429, reason="insufficient_quota"),
    "come back tomorrow": failing(429, retry_after=3600),
}


@pytest.mark.parametrize("answer", UNCHANGED.values(), ids=UNCHANGED)
def test_lasting_failures_are_not(model_server: ModelServer, answer: Answer) -> None:
    model_server.answers(answer, "good")
    failure(LOCAL)
    assert len(model_server.requests) == 1


def test_endpoint_says_when_to_come_back(model_server: ModelServer) -> None:
    model_server.answers(failing(429, "later", retry_after=0.4), "good")
    replies(LOCAL, question())
    assert model_server.gaps[0] >= 0.4


def test_unreachable_endpoint(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    kind, message = failure(LOCAL)
    assert kind is Failure.UNREACHABLE
    assert "ConnectError" in message


@pytest.mark.parametrize("echo", ["key {key} is bad", "GET /v1?key={key}&x=1", "Bearer {key}"])
def test_no_key_is_told(model_server: ModelServer, echo: str) -> None:
    model_server.answers(failing(400, echo.format(key=KEY)))
    _, message = failure(LOCAL)
    assert KEY not in message


# Before anything is asked


def test_settings_without_a_meaning_here_are_refused() -> None:
    config = {
        "temperature": 0.1,
        "tools": [],
        "cached_content": "c",
        "http_options": {"base_url": "http://x"},
    }
    with pytest.raises(InputError) as caught:
        check_settings(LOCAL, config)
    assert "`tools`, `cached_content`, `http_options.base_url`" in str(caught.value)
    check_settings("gemini-2.5-flash", config)


def test_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(InputError) as caught:
        open_model(LOCAL)
    assert "install `adk-agent-eval[openai]`" in str(caught.value)
