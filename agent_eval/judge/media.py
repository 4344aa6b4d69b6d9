"""Images, audio and files in a request: what a model can be shown of them, as far as that is known."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Awaitable, Callable

from agent_eval.judge.base import Failure, ModelError, Reply, Request
from agent_eval.schema.trace import Part

_ENOUGH = 3
"""After so many different media of a type were refused and none was taken, the type is not tried again."""


def mime_type(part: Part) -> str | None:
    """Of a part that is a medium; None for any other."""
    medium = part.inline_data or part.file_data
    return (medium.mime_type or "application/octet-stream") if medium else None


def media_of(request: Request) -> list[Part]:
    """The parts that are media, in order."""
    return [part for content in request.contents for part in content.parts or () if mime_type(part)]


def without(request: Request, is_hidden: Callable[[Part], bool]) -> Request:
    """The request with a note in the place of each medium that is hidden."""

    def shown(part: Part) -> Part:
        kind = mime_type(part)
        return Part(text=f"[{kind}, not shown]") if kind and is_hidden(part) else part

    contents = [
        content.model_copy(update={"parts": [shown(part) for part in content.parts or ()]})
        for content in request.contents
    ]
    return dataclasses.replace(request, contents=tuple(contents))


class Sight:
    """What a model takes of media, learnt from what its endpoint refused.

    A medium that was refused is not sent again. Nor is its type after a few, unless one was taken:
    a model without eyes shall not cost a refusal with each question, and a broken image shall not
    hide all others.
    """

    def __init__(self, has_form: Callable[[Part], bool] = lambda part: True) -> None:
        """Takes what tells media that can be written down for the endpoint at all."""
        self._has_form = has_form
        self._taken: set[str] = set()
        self._refused: dict[str, set[bytes]] = {}

    async def ask(self, request: Request, send: Callable[[Request], Awaitable[Reply]]) -> Reply:
        """The reply to what can be shown of a request; `unseen` tells the rest.

        Raises:
            ModelError: of `send`.
        """
        hidden = {mime_type(part) or "" for part in media_of(request) if self._is_hidden(part)}
        visible = without(request, self._is_hidden)
        media = media_of(visible)
        try:
            reply = await send(visible)
            self._taken.update(mime_type(part) or "" for part in media)
        except ModelError as error:
            if error.failure is not Failure.REFUSED or not media:
                raise
            reply = await send(without(visible, lambda part: True))
            for part in media:  # it is taken without them, so that one of them was refused
                self._refused.setdefault(mime_type(part) or "", set()).add(_digest(part))
            hidden.update(mime_type(part) or "" for part in media)
        return dataclasses.replace(reply, unseen=(*reply.unseen, *sorted(hidden)))

    def _is_hidden(self, part: Part) -> bool:
        if not self._has_form(part):
            return True
        kind = mime_type(part) or ""
        refused = self._refused.get(kind, set())
        return _digest(part) in refused or (kind not in self._taken and len(refused) >= _ENOUGH)


def _digest(part: Part) -> bytes:
    data = part.inline_data.data if part.inline_data else None
    named = (part.file_data.file_uri or "") if part.file_data else ""
    return hashlib.sha256(data or named.encode()).digest()
