"""What an endpoint does not understand is left out of a request, or put into words."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from agent_eval import serde
from agent_eval.judge.base import Failure, ModelError, Reply, Request
from agent_eval.judge.media import Sight, media_of
from agent_eval.schema.trace import Part


class Form(StrEnum):
    """How an endpoint can be told what an answer must look like."""

    SCHEMA = "schema"
    """By a JSON Schema."""
    JSON = "json"
    """To be JSON; of which form, by words."""
    WORDS = "words"


_LESS = {Form.SCHEMA: Form.JSON, Form.JSON: Form.WORDS}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How much of a request an endpoint understands."""

    form: Form = Form.SCHEMA
    system: bool = True
    """There are system instructions; Gemma and some chat templates have none."""
    newer_limit: bool = False
    """`max_tokens` is called `max_completion_tokens`, as newer models of OpenAI's want it."""

    def simpler(self, request: Request, refusal: str) -> Dialect | None:
        """What may be understood in place of what was refused; None if there is nothing to leave out."""
        if not self.newer_limit and "max_completion_tokens" in refusal:
            return dataclasses.replace(self, newer_limit=True)
        if self.system and request.system and _SYSTEM.search(refusal):
            return dataclasses.replace(self, system=False)
        if self.form in _LESS and request.schema and not (media_of(request) and _MEDIA.search(refusal)):
            return dataclasses.replace(self, form=_LESS[self.form])
        return None

    def put(self, request: Request) -> Request:
        """The request in this dialect."""
        if request.schema and self.form is not Form.SCHEMA:
            told = serde.to_json(dict(request.schema)).decode()
            words = f"Answer with one JSON value that fits this JSON Schema, and nothing else:\n{told}"
            system = f"{request.system}\n\n{words}" if request.system else words
            schema = request.schema if self.form is Form.JSON else None
            request = dataclasses.replace(request, schema=schema, system=system)
        if request.system and not self.system:
            first, *rest = request.contents
            parts = [Part(text=request.system), *(first.parts or ())]
            contents = (first.model_copy(update={"parts": parts}), *rest)
            request = dataclasses.replace(request, contents=contents, system=None)
        return request


_SYSTEM = re.compile(r"\bsystem\b|developer instruction", re.IGNORECASE)
"""Errors that speak of system instructions."""
_MEDIA = re.compile(r"image|vision|audio|multi-?modal|mmproj|\bfiles?\b|media", re.IGNORECASE)
"""Errors that speak of images, audio or files."""


class Interpreter:
    """Asks in a form that the endpoint understands, and remembers which that is."""

    def __init__(
        self,
        send: Callable[[Request, Dialect], Awaitable[Reply]],
        has_form: Callable[[Part], bool] = lambda part: True,
    ) -> None:
        """Takes what sends a request that was put in a dialect, and what tells media it has a form for."""
        self._send = send
        self._dialect = Dialect()
        self._sight = Sight(has_form)

    async def ask(self, request: Request) -> Reply:
        """One reply.

        Raises:
            ModelError: none came, and why.
        """
        return await self._sight.ask(request, self._understood)

    async def _understood(self, request: Request) -> Reply:
        """The reply in the first dialect that is not refused."""
        dialect = known = self._dialect
        while True:
            try:
                reply = await self._send(dialect.put(request), dialect)
            except ModelError as error:
                simpler = dialect.simpler(request, str(error))
                if error.failure is not Failure.REFUSED or simpler is None:
                    raise
                dialect = simpler
                continue
            if dialect is not known:
                self._dialect = dialect
            return reply
