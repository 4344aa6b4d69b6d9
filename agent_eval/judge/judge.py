"""A judge: a model as one metric asks it, again where an answer cannot be used."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from typing import TypeVar

from agent_eval.judge.base import Failure, Model, ModelError, Reply, Request
from agent_eval.judge.cache import JudgeCache, cache_key
from agent_eval.schema.config import JudgeModelOptions
from agent_eval.schema.result import JudgeUsage
from agent_eval.schema.trace import Content, Part

T = TypeVar("T")

_QUOTED = 1000
"""Characters of an unusable answer that are shown to the judge, and to the user."""
_ROOM = 4
"""A judge whose answer was cut off may use so many times the output tokens."""


class UnusableAnswerError(Exception):
    """An answer that cannot be read; the message says what is wrong with it, for the judge to mend."""


class Judge:
    """The model behind one metric, with the metric's options."""

    def __init__(
        self,
        model: Model,
        options: JudgeModelOptions,
        cache: JudgeCache | None = None,
    ) -> None:
        """Takes the model, the options, and where usable replies are kept."""
        self.model = model
        self.options = options
        self.cache = cache

    def hearing(self) -> Hearing:
        """What is asked for one run."""
        return Hearing(self)


class Hearing:
    """The questions of one metric about one run, at most `parallelism_limit` of them at once."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._places = asyncio.Semaphore(judge.options.parallelism_limit)
        self.usage = JudgeUsage(model=judge.model.name)
        """What was asked so far."""
        self.unseen: set[str] = set()
        """MIME types that the model could not be shown."""

    async def ask(self, request: Request, sample: int, read: Callable[[str], T]) -> T:
        """One sample of the judge's answer, as `read` understands it.

        Args:
            request: the question; the configured settings are added to it.
            sample: the number of the sample, from 0; the same question has another answer for each.
            read: makes a value of the text of an answer, or raises `UnusableAnswerError`.

        Raises:
            ModelError: no answer came, or none that can be used, though it was asked twice.
        """
        settings = {**(self._judge.options.judge_model_config or {}), **request.config}
        request = dataclasses.replace(request, config=settings)
        async with self._places:
            cache = self._judge.cache
            if cache is None:
                return (await self._heard(request, read))[1]
            key = cache_key(self._judge.model, request, sample)
            async with cache.turn(key):
                kept = await cache.get(key)
                if kept is not None:
                    try:
                        value = read(kept.text)
                    except UnusableAnswerError:  # read by other rules when it was kept
                        pass
                    else:
                        self._count(JudgeUsage(cached=1), kept)
                        return value
                reply, value = await self._heard(request, read)
                cache.keep(key, reply)
                return value

    async def _heard(self, request: Request, read: Callable[[str], T]) -> tuple[Reply, T]:
        """A reply and what it means; an unusable one is sent back once.

        Raises:
            ModelError: no reply came, or none that can be used.
        """
        reply = await self._reply(request)
        try:
            return reply, _understood(reply, read)
        except UnusableAnswerError as error:
            request = _once_more(request, reply, str(error))
        reply = await self._reply(request)
        try:
            return reply, _understood(reply, read)
        except UnusableAnswerError as error:
            told = f"the answer of {self._judge.model.name} cannot be used: {error}: {_quoted(reply.text)}"
            raise ModelError(Failure.UNUSABLE, told) from None

    async def _reply(self, request: Request) -> Reply:
        try:
            reply = await self._judge.model.ask(request)
        except ModelError as error:
            if error.failure is not Failure.BUDGET:
                self._count(_usage(Reply("", error.usage)))
            raise
        self._count(_usage(reply), reply)
        return reply

    def _count(self, usage: JudgeUsage, reply: Reply | None = None) -> None:
        self.usage += usage
        if reply:
            self.unseen.update(reply.unseen)


def _usage(reply: Reply) -> JudgeUsage:
    return JudgeUsage(
        requests=1, input_tokens=reply.usage.input_tokens, output_tokens=reply.usage.output_tokens
    )


def _understood(reply: Reply, read: Callable[[str], T]) -> T:
    """The meaning of a reply that was brought to its end: in half a one, the verdict may be a draft.

    Raises:
        UnusableAnswerError: it was not, or cannot be read.
    """
    if reply.is_cut_off:
        raise UnusableAnswerError("it was cut off by the limit of output tokens")
    return read(reply.text)


def _once_more(request: Request, reply: Reply, complaint: str) -> Request:
    """The question again, with what was wrong with the answer, and more room if it needed more."""
    told = Part(
        text=f"Your answer cannot be used: {complaint}. Answer again, completely and in the form asked for."
    )
    if reply.text.strip():
        said = Content(role="model", parts=[Part(text=_quoted(reply.text))])
        contents = (*request.contents, said, Content(role="user", parts=[told]))
    else:  # some endpoints refuse an empty message, or two of the same role in a row
        last = request.contents[-1]
        contents = (*request.contents[:-1], last.model_copy(update={"parts": [*(last.parts or ()), told]}))
    config = dict(request.config)
    if reply.is_cut_off and config.get("max_output_tokens"):
        config["max_output_tokens"] *= _ROOM
    return dataclasses.replace(request, contents=contents, config=config)


def _quoted(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"
