"""What a model is to the rest: something that is asked and replies, whoever serves it.

Judges and simulated users talk to models through this alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from agent_eval.judge.redaction import redacted
from agent_eval.schema.trace import Content


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model."""

    contents: tuple[Content, ...]
    """The conversation so far, oldest first; roles are `user` and `model`, parts are texts and media."""
    system: str | None = None
    """The system instruction."""
    schema: Mapping[str, Any] | None = None
    """JSON Schema of the answer; a model that cannot be held to it may answer otherwise."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Settings with the keys of `google.genai.types.GenerateContentConfig`."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a reply cost."""

    input_tokens: int = 0
    output_tokens: int = 0
    """Thoughts included."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said."""

    text: str
    """Without thoughts."""
    usage: Usage = Usage()
    is_cut_off: bool = False
    """It ran into the limit of output tokens."""
    unseen: tuple[str, ...] = ()
    """MIME types of what was sent, but the model could not be shown."""


class Failure(StrEnum):
    """Why a model gave no reply."""

    QUOTA = "quota"
    TIMEOUT = "timeout"
    BLOCKED = "blocked"
    """By a safety filter, of the prompt or of the answer."""
    EMPTY = "empty"
    """A response without any text but thoughts."""
    CREDENTIALS = "credentials"
    NOT_FOUND = "not_found"
    """The endpoint knows no such model."""
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    """The request was refused as wrong."""
    SERVER = "server"
    """The endpoint failed."""
    BUDGET = "budget"
    """`--max-judge-calls` is used up."""
    UNUSABLE = "unusable"
    """The answers cannot be read as one."""


class ModelError(Exception):
    """A model gave no usable reply. The message holds no secret."""

    def __init__(self, failure: Failure, message: str, usage: Usage = Usage()) -> None:
        super().__init__(redacted(message))
        self.failure = failure
        self.usage = usage
        """What the attempt cost all the same."""


class Model(Protocol):
    """A model at some provider. Transient failures (408, 429, 5xx) are retried inside, with backoff."""

    name: str
    """As configured, `openai/...` and the like included."""

    @property
    def endpoint(self) -> str | None:
        """Where it is served, without credentials; None in this process, where calls cost nothing."""
        ...

    async def ask(self, request: Request) -> Reply:
        """One reply.

        Raises:
            ModelError: none came, and why.
        """
        ...

    async def siblings(self) -> list[str]:
        """Names of the models at the same endpoint, as one would configure them; may raise anything."""
        ...

    async def aclose(self) -> None:
        """Gives back connections; called once, at the end."""
        ...
