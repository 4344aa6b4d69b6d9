"""The judges of one evaluation: what they share, and what holds for all of them together."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agent_eval import clock
from agent_eval.errors import InputError, Problem
from agent_eval.judge.base import Failure, ModelError
from agent_eval.judge.cache import JudgeCache
from agent_eval.judge.judge import UnusableAnswerError
from agent_eval.judge.judges import PREFLIGHT, Judges
from agent_eval.schema.config import JudgeModelOptions
from tests.judge.support import RETRIES, question
from tests.model_server import PREFLIGHT as KNOWN
from tests.model_server import Asked, ModelServer, Scripted, cut_off, empty, failing, said, slow

T = TypeVar("T")

GEMINI, LOCAL = "gemini-2.5-flash", "openai/local"


def yes(text: str) -> bool:
    if text not in ("yes", "no"):
        raise UnusableAnswerError("neither yes nor no")
    return text == "yes"


def options(model: str = GEMINI, **keys: Any) -> JudgeModelOptions:
    return JudgeModelOptions(judge_model=model, **keys)


def using(judges: Judges, story: Callable[[Judges], Awaitable[T]]) -> T:
    """What comes of a story with judges, which are closed afterwards."""

    async def whole() -> T:
        try:
            return await story(judges)
        finally:
            await judges.aclose()

    return asyncio.run(whole())


async def votes(
    judges: Judges, count: int, prompt: str = "is it?", model: str = GEMINI, **keys: Any
) -> list[bool | Failure]:
    """The samples of one question, all at once."""
    hearing = judges.judge(options(model, **{"parallelism_limit": 99} | keys)).hearing()

    async def vote(sample: int) -> bool | Failure:
        try:
            return await hearing.ask(question(prompt), sample, yes)
        except ModelError as error:
            return error.failure

    return list(await asyncio.gather(*(vote(sample) for sample in range(count))))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache.sqlite"


def test_no_sdk_is_imported_before_a_model_is_asked() -> None:
    source = """
import sys
from agent_eval.judge.cache import JudgeCache
from agent_eval.judge.judges import Judges, JudgeModelOptions
judges = Judges(cache=JudgeCache())
for name in ("gemini-2.5-flash", "openai/local"):
    judges.judge(JudgeModelOptions(judge_model=name))
print([name for name in ("google.genai", "openai", "litellm", "sqlite3", "httpx") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Limits


@pytest.mark.parametrize("limit", [1, 3])
def test_never_more_at_once_than_the_limit(model_server: ModelServer, limit: int) -> None:
    model_server.always = slow(0.05, "yes")

    async def story(judges: Judges) -> list[Any]:
        return list(await asyncio.gather(votes(judges, 4), votes(judges, 4, model=LOCAL), votes(judges, 4)))

    assert using(Judges(parallelism=limit), story) == [[True] * 4] * 3
    assert model_server.peak == limit


def test_budget_is_never_exceeded(model_server: ModelServer) -> None:
    model_server.always = "yes"
    judges = Judges(max_calls=3)

    async def story(judges: Judges) -> list[Any]:
        return [await votes(judges, 2), await votes(judges, 2, model=LOCAL), await votes(judges, 2)]

    first, second, third = using(judges, story)
    assert first == [True, True]
    assert sorted(map(str, second)) == ["True", "budget"]
    assert third == [Failure.BUDGET] * 2
    assert len(model_server.requests) == 3


def test_question_that_is_asked_twice_counts_twice(model_server: ModelServer) -> None:
    model_server.answers("perhaps", "yes", "yes")
    outcomes = using(Judges(max_calls=2), lambda judges: votes(judges, 2, parallelism_limit=1))
    assert outcomes == [True, Failure.BUDGET]


def test_budget_of_none_at_all(model_server: ModelServer) -> None:
    assert using(Judges(max_calls=0), lambda judges: votes(judges, 1)) == [Failure.BUDGET]
    assert model_server.requests == []


# The cache


def test_second_evaluation_sends_nothing(model_server: ModelServer, path: Path) -> None:
    model_server.always = lambda asked: "yes" if len(model_server.requests) % 2 else "no"
    first, second = Judges(cache=JudgeCache(path)), Judges(cache=JudgeCache(path), max_calls=0)

    votes_of_first = using(first, lambda judges: votes(judges, 5))
    assert len(model_server.requests) == 5
    assert using(second, lambda judges: votes(judges, 5)) == votes_of_first

    assert len(model_server.requests) == 5
    assert second.warnings == ()


def test_only_usable_answers_are_kept(model_server: ModelServer, path: Path) -> None:
    model_server.answers("perhaps", cut_off("ye"), empty(), "perhaps", "yes")

    def vote() -> list[bool | Failure]:
        return using(Judges(cache=JudgeCache(path)), lambda judges: votes(judges, 1))

    assert [vote() for _ in range(4)] == [[Failure.UNUSABLE], [Failure.EMPTY], [True], [True]]
    assert len(model_server.requests) == 5


def test_answer_that_is_no_longer_read_is_asked_for_again(model_server: ModelServer, path: Path) -> None:
    model_server.answers("maybe", "yes")

    def ask(read: Callable[[str], Any]) -> Any:
        async def story(judges: Judges) -> Any:
            return await judges.judge(options()).hearing().ask(question(), 0, read)

        return using(Judges(cache=JudgeCache(path)), story)

    assert ask(str) == "maybe"
    assert ask(yes) is True
    assert ask(str) == "yes"


def test_same_question_at_once_is_sent_once(model_server: ModelServer, path: Path) -> None:
    model_server.always = slow(0.1, "yes")

    async def story(judges: Judges) -> list[Any]:
        return list(await asyncio.gather(*(votes(judges, 1) for _ in range(4))))

    assert using(Judges(cache=JudgeCache(path)), story) == [[True]] * 4
    assert len(model_server.requests) == 1


def test_media_that_were_not_seen_are_told_from_the_cache_too(model_server: ModelServer, path: Path) -> None:
    from tests.judge.support import image

    model_server.always = lambda asked: failing(400, "no images") if asked.media else "yes"

    def unseen() -> set[str]:
        async def story(judges: Judges) -> set[str]:
            hearing = judges.judge(options(LOCAL)).hearing()
            await hearing.ask(question("look", image()), 0, yes)
            return hearing.unseen

        return using(Judges(cache=JudgeCache(path)), story)

    assert (unseen(), unseen()) == ({"image/png"}, {"image/png"})


def test_broken_cache_is_told_and_does_no_harm(model_server: ModelServer, path: Path) -> None:
    path.write_text("no database")
    model_server.always = "yes"
    judges = Judges(cache=JudgeCache(path))

    assert using(judges, lambda judges: votes(judges, 2)) == [True, True]
    (warning,) = judges.warnings
    assert str(path) in warning


def test_calls_in_this_process_are_not_kept(path: Path, own_imports: None, tmp_path: Path) -> None:
    (tmp_path / "counting_judge.py").write_text(
        "calls = []\ndef judge(r):\n    calls.append(r)\n    return 'yes'\n"
    )

    def vote() -> list[bool | Failure]:
        judges = Judges(cache=JudgeCache(path), code_folders=(tmp_path,))
        return using(judges, lambda judges: votes(judges, 2, model="python/counting_judge:judge"))

    assert [vote(), vote()] == [[True] * 2] * 2
    assert len(sys.modules["counting_judge"].calls) == 4
    assert not path.exists()


# Models


def test_metrics_share_a_model(model_server: ModelServer) -> None:
    judges = Judges()
    first = judges.judge(options())
    second = judges.judge(options(num_samples=9))
    assert judges.model(GEMINI) is judges.model(GEMINI)
    assert (first.options.num_samples, second.options.num_samples) == (5, 9)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (options("gpt-5"), "no provider is known"),
        (options("python/no_such_module:f"), "cannot import"),
        (options("openai/x", judge_model_config={"cached_content": "c"}), "cached_content"),
    ],
)
def test_judge_that_cannot_be_is_told_before_anything_runs(wrong: JudgeModelOptions, told: str) -> None:
    with pytest.raises(InputError, match=told):
        Judges().judge(wrong)


# Preflight


def preflight(*models: str) -> tuple[list[Problem], float]:
    """What is wrong with these models, and how long it took to find out."""
    judges = Judges(max_calls=0)
    for model in models:
        judges.judge(options(model))
    start = clock.monotonic()
    problems = using(judges, lambda judges: judges.preflight())
    return problems, clock.monotonic() - start


def test_preflight_asks_each_model_once(model_server: ModelServer) -> None:
    assert PREFLIGHT.contents[0].text == KNOWN
    assert preflight(GEMINI, GEMINI, LOCAL) == ([], pytest.approx(0, abs=10))
    assert [asked.model for asked in model_server.preflights] in ([GEMINI, "local"], ["local", GEMINI])
    assert model_server.requests == []


def test_preflight_asks_all_at_once(model_server: ModelServer) -> None:
    model_server.preflight = slow(0.3)
    preflight(GEMINI, *(f"openai/{number}" for number in range(5)))
    assert model_server.peak > 1


PROBLEMS: dict[str, tuple[str, Scripted, str, str]] = {
    "no model": (
        LOCAL,
        failing(404, "model 'local' not found"),
        "there is no openai/local at http://",
        "name",
    ),
    "wrong key": (GEMINI, failing(400, reason="API_KEY_INVALID"), "no access to", "set GEMINI_API_KEY"),
    "no access": (LOCAL, failing(403), "no access to", "set OPENAI_API_KEY"),
    "refused": (GEMINI, failing(400, "thinking is not supported"), "refused by", "thinking"),
}


@pytest.mark.parametrize(("model", "answer", "told", "hint"), PROBLEMS.values(), ids=PROBLEMS)
def test_preflight_tells_what_is_wrong_and_what_to_do(
    model_server: ModelServer, model: str, answer: Scripted, told: str, hint: str
) -> None:
    model_server.preflight = answer
    ((problem,), _) = preflight(model)
    assert told in str(problem)
    assert hint in str(problem)
    assert len(model_server.preflights) == 1


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("gemini-2.5-flush", "did you mean `gemini-2.5-flash`?"),
        ("openai/locale", "did you mean `openai/local`?"),
        ("openai/qwen2.5:7b-instruct-q4", "it has openai/gemini-2.5-flash, openai/local"),
    ],
)
def test_preflight_tells_the_models_there_are(model_server: ModelServer, model: str, hint: str) -> None:
    model_server.models = ["gemini-2.5-flash", "local"]
    ((problem,), _) = preflight(model)
    assert problem.hint == hint


@pytest.mark.parametrize(
    ("model", "variable"),
    [(GEMINI, "GOOGLE_GEMINI_BASE_URL"), (LOCAL, "OPENAI_BASE_URL")],
    ids=["gemini", "openai"],
)
def test_dead_endpoint_is_found_quickly(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, model: str, variable: str
) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:9/v1")
    ((problem,), seconds) = preflight(model)
    assert f"cannot reach {model} at http://127.0.0.1:9/v1" in str(problem)
    assert variable in str(problem)
    assert seconds < 5


def test_missing_key_is_told(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_API_KEY")
    ((problem,), _) = preflight(GEMINI)
    assert "GEMINI_API_KEY or GOOGLE_API_KEY is not set" in str(problem)


PASSING: dict[str, Scripted] = {
    "cut off": cut_off(""),
    "thoughts": said("", thoughts="hm"),
    "quota": failing(429),
    "overloaded": failing(503),
}


@pytest.mark.parametrize("answer", PASSING.values(), ids=PASSING)
def test_what_may_be_otherwise_in_a_moment_is_no_problem(model_server: ModelServer, answer: Scripted) -> None:
    model_server.preflight = answer
    assert preflight(GEMINI)[0] == []


def test_slow_endpoint_is_a_problem(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PREFLIGHT.config["http_options"], "timeout", 200)  # it is 20 seconds
    model_server.preflight = slow(5)
    ((problem,), seconds) = preflight(LOCAL)
    assert "no answer from openai/local" in str(problem)
    assert "--no_preflight" in str(problem)
    assert seconds < 5


def test_attempts_after_a_failure_count_as_one_call(model_server: ModelServer) -> None:
    def answer(asked: Asked) -> Any:
        return failing(503) if len(model_server.requests) == 1 else "yes"

    model_server.always = answer
    quick = {"http_options": {"retry_options": RETRIES}}
    judges = Judges(max_calls=1)
    assert using(judges, lambda judges: votes(judges, 1, judge_model_config=quick)) == [True]
    assert len(model_server.requests) == 2
