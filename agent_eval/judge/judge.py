"""A judge: a model as one metric asks it, again where an answer cannot be used."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from typing import TypeVar

from agent_eval.judge.base import Failure, Model, ModelError, Reply, Request
from agent_eval.schema.config import JudgeModelOptions
from agent_eval.schema.result import JudgeUsage
from agent_eval.schema.trace import Content, Part

T = TypeVar("T")


class UnusableAnswerError(Exception):
    """An answer that cannot be read; the message says what is wrong with it, for the judge to mend."""


class Judge:
    """The model behind one metric, with the metric's options."""

    def __init__(self, model: Model, options: JudgeModelOptions) -> None:
        self._model = model
        self.options = options

    def hearing(self) -> Hearing:
        """What is asked for one run."""
        return Hearing(self._model, self.options)


class Hearing:
    """The questions of one metric about one run, at most `parallelism_limit` of them at once."""

    def __init__(self, model: Model, options: JudgeModelOptions) -> None:
        self._model = model
        self._options = options
        self._places = asyncio.Semaphore(options.parallelism_limit)
        self.usage = JudgeUsage()
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
        request = dataclasses.replace(
            request, config={**(self._options.judge_model_config or {}), **request.config}
        )
        async with self._places:
            reply = await self._reply(request)
            try:
                return read(reply.text)
            except UnusableAnswerError as error:
                complaint = Content(role="user", parts=[Part(text=f"That cannot be used: {error}")])
            said = Content(role="model", parts=[Part(text=reply.text)])
            contents = (*request.contents, said, complaint)
            reply = await self._reply(dataclasses.replace(request, contents=contents))
            try:
                return read(reply.text)
            except UnusableAnswerError as error:
                told = f"the judge's answer cannot be used: {error}: {reply.text}"
                raise ModelError(Failure.UNUSABLE, told) from None

    async def _reply(self, request: Request) -> Reply:
        reply = await self._model.ask(request)
        self.usage += JudgeUsage(
            requests=1, input_tokens=reply.usage.input_tokens, output_tokens=reply.usage.output_tokens
        )
        self.unseen.update(reply.unseen)
        return reply
