"""Models in this process: callables of one's own."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from agent_eval.errors import InputError
from agent_eval.judge.base import Failure, ModelError, Reply, Request
from agent_eval.judge.models import open_model, provider_of
from tests.cli_support import Project
from tests.judge.support import each, question

SOURCE = """
import threading
from agent_eval.judge.base import Failure, ModelError, Reply, Usage

def sync(request):
    return f"{request.contents[0].text} in {threading.current_thread() is threading.main_thread()}"

async def coroutine(request):
    return Reply("async", Usage(1, 2))

class Judge:
    async def __call__(self, request):
        return "object"
    def method(self, request):
        return "method"

judge = Judge()

def number(request):
    return 7

def broken(request):
    raise LookupError("lost")

def refuses(request):
    raise ModelError(Failure.QUOTA, "no more")

text = "no function"
"""


@pytest.fixture
def opened(project: Project, own_imports: None) -> Any:
    project.write("judges_of_mine.py", SOURCE)
    return lambda attribute: open_model(f"python/judges_of_mine:{attribute}", (project.root,))


@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        ("sync", "hi in False"),
        ("coroutine", "async"),
        ("judge", "object"),
        ("judge.method", "method"),
    ],
)
def test_callables_of_all_kinds(opened: Any, attribute: str, said: str) -> None:
    model = opened(attribute)
    (reply,) = asyncio.run(each(model, question()))
    assert isinstance(reply, Reply)
    assert reply.text == said
    assert (model.name, model.endpoint) == (f"python/judges_of_mine:{attribute}", None)


@pytest.mark.parametrize(
    ("attribute", "failure", "told"),
    [
        ("number", Failure.SERVER, "returned int"),
        ("broken", Failure.SERVER, "LookupError: lost"),
        ("refuses", Failure.QUOTA, "no more"),
    ],
)
def test_what_goes_wrong_is_a_failure(opened: Any, attribute: str, failure: Failure, told: str) -> None:
    (error,) = asyncio.run(each(opened(attribute), question()))
    assert isinstance(error, ModelError)
    assert error.failure is failure
    assert told in str(error)


@pytest.mark.parametrize(
    ("attribute", "told"),
    [
        ("sinc", "did you mean `sync`"),
        ("text", "str, which cannot be called"),
    ],
)
def test_wrong_references_are_told_before_anything_runs(opened: Any, attribute: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        opened(attribute)
    assert told in str(caught.value)


def test_missing_module_is_told() -> None:
    with pytest.raises(InputError, match="cannot import `no_such_module`"):
        open_model("python/no_such_module:judge")


def test_sync_callables_answer_side_by_side() -> None:
    from agent_eval.judge.python import PythonModel

    barrier = threading.Barrier(3, timeout=5)

    def wait(request: Request) -> str:
        barrier.wait()
        return "together"

    async def three() -> list[Reply]:
        model = PythonModel("python/a:b", wait)
        return await asyncio.gather(*(model.ask(question()) for _ in range(3)))

    assert [reply.text for reply in asyncio.run(three())] == ["together"] * 3


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("gemini-2.5-flash", "gemini"),
        ("projects/p/locations/l/publishers/google/models/gemini-2.5-pro", "gemini"),
        ("projects/p/locations/l/endpoints/1", "gemini"),
        ("openai/gpt-5", "openai"),
        ("litellm/anthropic/claude", "litellm"),
        ("python/a.b:c.d", "python"),
        ("python/a.b", None),
        ("gpt-5", None),
        ("openai/", None),
        ("", None),
    ],
)
def test_providers_by_name(name: str, provider: str | None) -> None:
    assert provider_of(name) == provider
    if provider is None:
        with pytest.raises(InputError, match="no provider is known"):
            open_model(name)
