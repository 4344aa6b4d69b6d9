"""Judges behind litellm: the real package, if it is installed, against a server of this machine."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from agent_eval.errors import InputError
from agent_eval.judge.base import Failure, Usage
from agent_eval.judge.models import check_settings, open_model
from tests.judge.support import VERDICT, failure, image, question, replies
from tests.model_server import KEY, Answer, ModelServer, blocked, cut_off, failing, said, slow

LITE = "litellm/openai/local"


def test_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(InputError) as caught:
        open_model(LITE)
    assert "install `adk-agent-eval[litellm]`" in str(caught.value)


def test_settings_without_a_meaning_here_are_refused() -> None:
    with pytest.raises(InputError, match="cached_content"):
        check_settings(LITE, {"cached_content": "c"})


needs_litellm = [
    pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="needs the package litellm"),
    pytest.mark.filterwarnings("default"),  # its own are its own affair
]


class TestWithThePackage:
    pytestmark = needs_litellm

    def test_question_arrives_whole(self, model_server: ModelServer) -> None:
        model_server.answers(said({"verdict": "no"}, thoughts="perhaps yes"))
        request = question(
            "is it?", image(), system="be a judge", schema=VERDICT, max_output_tokens=9, temperature=0.0
        )
        (reply,) = replies(LITE, request)

        (asked,) = model_server.requests
        assert (reply.text, reply.usage) == ('{"verdict": "no"}', Usage(10, 12))
        assert (asked.model, asked.system, asked.prompt) == ("local", "be a judge", "is it?")
        assert (asked.schema, asked.media) == (VERDICT, ["image/png"])
        assert (asked.settings["max_tokens"], asked.settings["temperature"]) == (9, 0.0)

    @pytest.mark.parametrize(
        ("answer", "kind"),
        [
            (failing(429), Failure.QUOTA),
            (failing(401), Failure.CREDENTIALS),
            (failing(404), Failure.NOT_FOUND),
            (failing(400), Failure.REFUSED),
            (failing(500), Failure.SERVER),
            (blocked(), Failure.BLOCKED),
            (failing(400, "filtered", reason="content_policy_violation"), Failure.BLOCKED),
            (slow(5), Failure.TIMEOUT),
        ],
        ids=lambda value: str(getattr(value, "status", value)),
    )
    def test_failures(self, model_server: ModelServer, answer: Answer, kind: Failure) -> None:
        model_server.always = answer
        found, message = failure(LITE, question(http={"timeout": 300 if answer.wait else None}))
        assert found is kind
        assert LITE in message

    def test_attempts_are_counted_here(self, model_server: ModelServer) -> None:
        model_server.always = failing(500, f"key={KEY}")
        _, message = failure(LITE)
        assert len(model_server.requests) == 3
        assert KEY not in message

    def test_cut_off_answer_is_marked(self, model_server: ModelServer) -> None:
        model_server.answers(cut_off("half"))
        (reply,) = replies(LITE, question())
        assert reply.is_cut_off

    def test_unreachable_endpoint(self, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        assert failure(LITE)[0] is Failure.UNREACHABLE

    def test_missing_key(self, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("GEMINI_API_KEY")
        assert failure("litellm/gemini/gemini-2.5-flash")[0] is Failure.CREDENTIALS
