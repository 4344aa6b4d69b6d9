"""The user that a model plays: follows a scenario's plan until it signals the end."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from agent_eval.judge.base import Failure, Model, ModelError, Reply, Request, Usage
from agent_eval.schema.config import ModelSimulatorConfig
from agent_eval.schema.evalset import ConversationScenario
from agent_eval.schema.result import SimulatorUsage
from agent_eval.schema.trace import Content, Invocation, Part
from agent_eval.simulation.base import SimulatedUserError
from agent_eval.simulation.instructions import InstructionsError, custom_instructions, instructions
from agent_eval.simulation.scenario import ScenarioPlayer
from agent_eval.simulation.transcript import agent_parts, as_text, user_text

ATTEMPTS = 3
"""Answers that are asked for where one is empty or cut off."""

_ROOM = 4
"""A message that was cut off may have so many times the output tokens."""

_SEEDS = 2**31
"""Gemini takes seeds below it."""

_BEGIN = "(The conversation begins. Write the user's first message.)"
_NO_TEXT = "(no text)"


class ModelUser:
    """The model behind the simulated users of an eval set."""

    def __init__(self, model: Model, config: ModelSimulatorConfig) -> None:
        self.name = model.name
        self.config = config
        self._model = model
        self._takes_seeds = True

    def player(self, scenario: ConversationScenario, seed: int) -> ModelPlayer:
        """The user of one run."""
        return ModelPlayer(self, scenario, seed)

    async def ask(self, request: Request, seed: int) -> Reply:
        """A reply. An endpoint that refuses the seed is asked without, now and from then on.

        Raises:
            ModelError: none came.
        """
        if self._takes_seeds and "seed" not in request.config:
            seeded = dataclasses.replace(request, config={**request.config, "seed": seed % _SEEDS})
            try:
                return await self._model.ask(seeded)
            except ModelError as error:
                if error.failure is not Failure.REFUSED or "seed" not in str(error).lower():
                    raise
                self._takes_seeds = False
        return await self._model.ask(request)


class ModelPlayer(ScenarioPlayer):
    """Asks the model for each message after the opening."""

    def __init__(self, user: ModelUser, scenario: ConversationScenario, seed: int) -> None:
        super().__init__(scenario, user.config.max_allowed_invocations)
        self.usage = SimulatorUsage(model=user.name)
        self._user = user
        self._seed = seed

    async def write(self, history: list[Invocation]) -> str:
        """The model's next message. An empty answer and half a one are asked for again.

        Raises:
            SimulatedUserError: there is none.
        """
        try:
            request = self._request(history)
        except InstructionsError as error:
            told = f"the instructions of the simulated user cannot be filled in: {error}"
            raise SimulatedUserError(told) from error
        trouble = ""
        for attempt in range(ATTEMPTS):
            try:
                reply = await self._user.ask(request, self._seed + attempt)
            except ModelError as error:
                self._count(error.usage)
                trouble = str(error)
                if error.failure is not Failure.EMPTY:
                    break
                continue
            self._count(reply.usage)
            if reply.is_cut_off:
                trouble = "its message was cut off by the limit of output tokens"
                request = _with_more_room(request)
            elif text := reply.text.strip():
                return text
            else:
                trouble = "its message was empty"
        raise SimulatedUserError(f"the simulated user gave no message: {trouble}")

    def _count(self, usage: Usage) -> None:
        assert self.usage is not None
        self.usage += SimulatorUsage(
            requests=1, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens
        )

    def _request(self, history: list[Invocation]) -> Request:
        """The question for the next message.

        Raises:
            InstructionsError: a template cannot be filled in.
        """
        config = self._user.config
        shown = config.include_function_calls
        if config.custom_instructions is None:
            contents = tuple(_seen_by_user(history, with_calls=shown))
            return Request(contents, instructions(self.scenario), config=config.model_configuration)
        talk = as_text(history, with_calls=shown)
        told = custom_instructions(config.custom_instructions, self.scenario, talk)
        return Request((_content("user", told),), config=config.model_configuration)


def _seen_by_user(history: list[Invocation], *, with_calls: bool) -> Iterator[Content]:
    """The conversation from the user's side: the model's words are what the user said."""
    yield _content("user", _BEGIN)
    for turn in history:
        yield _content("model", user_text(turn) or _NO_TEXT)
        said = agent_parts(turn, with_calls=with_calls)
        yield Content(role="user", parts=said) if said else _content("user", _NO_TEXT)


def _content(role: str, text: str) -> Content:
    return Content(role=role, parts=[Part(text=text)])


def _with_more_room(request: Request) -> Request:
    config = dict(request.config)
    if config.get("max_output_tokens"):
        config["max_output_tokens"] *= _ROOM
    return dataclasses.replace(request, config=config)
