"""The judges of one evaluation: a model for each name, and what all of them share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from agent_eval.errors import Problem, did_you_mean
from agent_eval.judge.base import Failure, Model, ModelError, Reply, Request
from agent_eval.judge.cache import JudgeCache
from agent_eval.judge.judge import Judge
from agent_eval.judge.models import check_settings, open_model, provider_of
from agent_eval.schema.config import JudgeModelOptions
from agent_eval.schema.trace import Content, Part

DEFAULT_PARALLELISM = 16
"""Judge calls under way at once, over all metrics and runs."""

PREFLIGHT = Request(
    contents=(Content(role="user", parts=[Part(text="Reply with the word OK.")]),),
    config={
        "max_output_tokens": 16,
        "http_options": {"timeout": 20_000, "retry_options": {"attempts": 1}},
    },
)
"""What tells whether a model is there; 20 seconds are for local servers that load it first."""

_SIBLINGS_SECONDS = 10
_LISTED = 8
"""Names of other models in a hint."""

_CREDENTIALS = {
    "gemini": "set GEMINI_API_KEY, or GOOGLE_GENAI_USE_VERTEXAI=true and GOOGLE_CLOUD_PROJECT",
    "openai": "set OPENAI_API_KEY, or OPENAI_BASE_URL to an endpoint that needs none",
    "litellm": "set the variables that litellm names for this provider",
}
_ADDRESSES = {
    "gemini": "is GOOGLE_GEMINI_BASE_URL right?",
    "openai": "is the server started, and OPENAI_BASE_URL right?",
    "litellm": "is the server started, and the address in the environment right?",
}


class Judges:
    """Opens judges. May be made outside an event loop, and is used in one only."""

    def __init__(
        self,
        *,
        parallelism: int = DEFAULT_PARALLELISM,
        max_calls: int | None = None,
        calls: Iterator[int] | None = None,
        cache: JudgeCache | None = None,
        code_folders: tuple[Path, ...] = (),
    ) -> None:
        """Takes what all judges share.

        Args:
            parallelism: judge calls under way at once.
            max_calls: judge calls in all (`--max_judge_calls`); None for no limit.
            calls: numbers them from 0; worker processes share one, so that the limit holds for all.
            cache: where usable replies are kept, if they are; it is closed with the judges.
            code_folders: where the code of Python models is looked for, besides installed packages.
        """
        self._models: dict[str, Model] = {}
        self._gate = _Gate(parallelism, max_calls, calls or count())
        self._cache = cache
        self._code_folders = code_folders

    def model(self, name: str, settings: Mapping[str, Any] | None = None) -> Model:
        """The model of a name, the same for all who ask for it; no limit holds for it.

        Raises:
            InputError: there is none, what it needs is not installed, or a setting does not fit it.
        """
        check_settings(name, settings or {})
        if name not in self._models:
            self._models[name] = open_model(name, self._code_folders)
        return self._models[name]

    def judge(self, options: JudgeModelOptions) -> Judge:
        """The judge that a metric's options describe.

        Raises:
            InputError: there is no such model, what it needs is not installed, or a setting does not fit it.
        """
        name = options.judge_model
        model = self.model(name, options.judge_model_config)
        cache = self._cache if model.endpoint else None
        return Judge(_Gated(model, self._gate), options, cache)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong without harm to any result."""
        return (self._cache.trouble,) if self._cache and self._cache.trouble else ()

    async def preflight(self) -> list[Problem]:
        """Asks each model that was opened one tiny question; what is wrong with them, and what to do.

        Only what would go wrong with every question is told: not that a quota is used up just now.
        """
        models = [model for model in self._models.values() if model.endpoint]
        problems = await asyncio.gather(*(_preflight(model) for model in models))
        return [problem for problem in problems if problem]

    async def aclose(self) -> None:
        """Closes models and cache. What one of them raises hinders no other, and no result."""
        for model in self._models.values():
            with suppress(Exception):
                await model.aclose()
        if self._cache:
            await self._cache.aclose()


class _Gate:
    """What passes it: so many calls at once, and so many in all."""

    def __init__(self, parallelism: int, max_calls: int | None, calls: Iterator[int]) -> None:
        self.places = asyncio.Semaphore(parallelism)
        self._max_calls = max_calls
        self._calls = calls

    def take_call(self) -> None:
        """Counts a call.

        Raises:
            ModelError: there were all that may be.
        """
        if self._max_calls is not None and next(self._calls) >= self._max_calls:
            raise ModelError(Failure.BUDGET, f"the {self._max_calls} calls of --max_judge_calls are used up")


class _Gated:
    """A model behind the gate that it shares with all judges."""

    def __init__(self, model: Model, gate: _Gate) -> None:
        self.name = model.name
        self._model = model
        self._gate = gate

    @property
    def endpoint(self) -> str | None:
        return self._model.endpoint

    async def ask(self, request: Request) -> Reply:
        async with self._gate.places:
            self._gate.take_call()
            return await self._model.ask(request)

    async def siblings(self) -> list[str]:
        return await self._model.siblings()

    async def aclose(self) -> None:
        """The model is closed by who opened it."""


async def _preflight(model: Model) -> Problem | None:
    try:
        await model.ask(PREFLIGHT)
    except ModelError as error:
        siblings = await _siblings(model) if error.failure is Failure.NOT_FOUND else []
        return _problem(model, error, siblings)
    return None


async def _siblings(model: Model) -> list[str]:
    with suppress(Exception):  # the hint is worth no second problem
        async with asyncio.timeout(_SIBLINGS_SECONDS):
            return await model.siblings()
    return []


def _problem(model: Model, error: ModelError, siblings: list[str]) -> Problem | None:
    provider = provider_of(model.name) or ""
    told = f"{model.name} at {model.endpoint}"
    match error.failure:
        case Failure.CREDENTIALS:
            return Problem(f"no access to {told}: {error}", hint=_CREDENTIALS.get(provider))
        case Failure.NOT_FOUND:
            listed = f"it has {', '.join(siblings[:_LISTED])}" if siblings else None
            hint = did_you_mean(model.name, siblings) or listed or "is the name right?"
            return Problem(f"there is no {told}: {error}", hint=hint)
        case Failure.UNREACHABLE:
            return Problem(f"cannot reach {told}: {error}", hint=_ADDRESSES.get(provider))
        case Failure.TIMEOUT:
            hint = "a model that is loaded at its first question may need longer: --no_preflight"
            return Problem(f"no answer from {told}: {error}", hint=hint)
        case Failure.REFUSED:
            return Problem(f"refused by {told}: {error}")
    return None
