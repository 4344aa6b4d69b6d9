"""What a metric gets of a judge: answers that can be read, or the reason why there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agent_eval.judge.base import Failure, ModelError, Reply, Request, Usage
from agent_eval.judge.judge import Hearing, Judge, UnusableAnswerError
from agent_eval.judge.python import PythonModel
from agent_eval.schema.config import JudgeModelOptions
from agent_eval.schema.result import JudgeUsage
from tests.judge.support import question


def number(text: str) -> int:
    """Reads an answer that is a number."""
    if not text.strip().isdigit():
        raise UnusableAnswerError(f"{text.strip()[:20]!r} is no number")
    return int(text)


NAME = "python/test:scripted"


class Scripted:
    """A model that says these things, one after the other, and keeps what it was asked."""

    def __init__(self, *says: str | Reply | ModelError) -> None:
        self._says = list(says)
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> str | Reply:
        self.asked.append(request)
        said = self._says.pop(0)
        if isinstance(said, ModelError):
            raise said
        return said

    def hearing(self, **options: Any) -> Hearing:
        return Judge(PythonModel(NAME, self), JudgeModelOptions(**options)).hearing()


def ask(hearing: Hearing, request: Request | None = None, read: Callable[[str], int] = number) -> int:
    return asyncio.run(hearing.ask(request or question("how many?"), 0, read))


def texts(request: Request) -> list[tuple[str | None, str]]:
    return [(content.role, content.text) for content in request.contents]


def test_answer_is_what_it_is_read_as() -> None:
    model = Scripted(Reply("7", Usage(10, 2), unseen=("image/png",)))
    hearing = model.hearing(judge_model_config={"temperature": 0.5, "seed": 1})

    assert ask(hearing, question("how many?", seed=2)) == 7
    assert hearing.usage == JudgeUsage(model=NAME, requests=1, input_tokens=10, output_tokens=2)
    assert hearing.unseen == {"image/png"}
    config = model.asked[0].config
    assert (config["temperature"], config["seed"]) == (0.5, 2)


def test_unusable_answer_is_sent_back_with_the_reason() -> None:
    model = Scripted(Reply("many", Usage(10, 2)), Reply("7", Usage(20, 1)))
    hearing = model.hearing()

    assert ask(hearing) == 7
    assert hearing.usage == JudgeUsage(model=NAME, requests=2, input_tokens=30, output_tokens=3)
    (_, said, complaint) = texts(model.asked[1])
    assert said == ("model", "many")
    assert complaint[0] == "user"
    assert "'many' is no number" in complaint[1]


def test_second_unusable_answer_is_a_failure_that_shows_it() -> None:
    with pytest.raises(ModelError) as caught:
        ask(Scripted("many", "quite " * 999).hearing())
    assert caught.value.failure is Failure.UNUSABLE
    assert "'quite quite quite qu' is no number: quite quite" in str(caught.value)
    assert len(str(caught.value)) < 1200


def test_cut_off_answer_gets_more_room_and_is_not_read() -> None:
    model = Scripted(Reply("1", is_cut_off=True), "12")
    assert ask(model.hearing(judge_model_config={"max_output_tokens": 100})) == 12
    assert [request.config["max_output_tokens"] for request in model.asked] == [100, 400]
    assert "cut off" in texts(model.asked[1])[-1][1]


def test_answer_that_is_cut_off_twice_is_unusable() -> None:
    with pytest.raises(ModelError, match="cut off") as caught:
        ask(Scripted(Reply("1", is_cut_off=True), Reply("12", is_cut_off=True)).hearing())
    assert caught.value.failure is Failure.UNUSABLE


def test_complaint_about_no_answer_joins_the_question() -> None:
    model = Scripted(Reply("", is_cut_off=True), "7")
    ask(model.hearing())
    ((role, text),) = texts(model.asked[1])
    assert role == "user"
    assert text.startswith("how many?\nYour answer cannot be used")


@pytest.mark.parametrize(("failure", "requests"), [(Failure.QUOTA, 1), (Failure.BUDGET, 0)])
def test_failure_of_the_model_passes_and_is_paid_for(failure: Failure, requests: int) -> None:
    hearing = Scripted(ModelError(failure, "no", Usage(3, 0))).hearing()
    with pytest.raises(ModelError) as caught:
        ask(hearing)
    assert caught.value.failure is failure
    assert hearing.usage.requests == requests


def test_other_exceptions_of_the_reader_pass() -> None:
    def broken(text: str) -> int:
        raise LookupError("a bug")

    with pytest.raises(LookupError):
        ask(Scripted("7").hearing(), read=broken)


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_questions_at_once_than_the_limit(limit: int) -> None:
    running = peak = 0

    async def slow(request: Request) -> str:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0.01)
        running -= 1
        return "7"

    async def all_at_once() -> list[int]:
        judge = Judge(PythonModel("python/test:slow", slow), JudgeModelOptions(parallelism_limit=limit))
        hearing = judge.hearing()
        return await asyncio.gather(*(hearing.ask(question(), sample, number) for sample in range(8)))

    assert asyncio.run(all_at_once()) == [7] * 8
    assert peak == limit


def test_given_up_question_frees_its_place() -> None:
    async def story() -> int:
        never = asyncio.Event()

        async def model(request: Request) -> str:
            if request.contents[0].text == "hang":
                await never.wait()
            return "7"

        hearing = Judge(PythonModel("python/test:model", model), JudgeModelOptions()).hearing()
        hanging = asyncio.ensure_future(hearing.ask(question("hang"), 0, number))
        await asyncio.sleep(0.01)
        hanging.cancel()
        return await asyncio.wait_for(hearing.ask(question("go"), 1, number), 5)

    assert asyncio.run(story()) == 7
