"""From config and case to who plays the user; what cannot be played is told before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_eval.errors import Problem
from agent_eval.schema.config import (
    STOP_SIGNAL,
    EvalConfig,
    LlmAudioSimulatorConfig,
    LlmBackedSimulatorConfig,
    ModelSimulatorConfig,
    ScriptedSimulatorConfig,
    SimulatorConfig,
)
from agent_eval.schema.evalset import ConversationScenario, EvalCase
from agent_eval.simulation.base import Player
from agent_eval.simulation.static import StaticPlayer

if TYPE_CHECKING:
    from agent_eval.judge.base import Model
    from agent_eval.simulation.llm import ModelUser

OpenModel = Callable[[str, Mapping[str, Any]], "Model"]
"""From a model's name and settings to the model."""


@dataclass(frozen=True, slots=True)
class Players:
    """Who plays the user in the cases of one eval set."""

    simulator: ModelUser | ScriptedSimulatorConfig | None
    """Of the scenarios; None where there are none."""

    @property
    def simulated_by(self) -> str | None:
        """The model's name, or `a script`; None where nobody is simulated."""
        if self.simulator is None:
            return None
        return "a script" if isinstance(self.simulator, ScriptedSimulatorConfig) else self.simulator.name

    def player(self, case: EvalCase, seed: int) -> Player:
        """Who plays the user in one run of a case."""
        scenario = case.conversation_scenario
        if scenario is None:
            return StaticPlayer(case.conversation or ())
        if isinstance(self.simulator, ScriptedSimulatorConfig):
            from agent_eval.simulation.scripted import ScriptedPlayer

            return ScriptedPlayer(scenario, self.simulator)
        assert self.simulator is not None, "players_of was not told of this scenario"
        return self.simulator.player(scenario, seed)


def players_of(config: EvalConfig, cases: Sequence[EvalCase], open_model: OpenModel) -> Players:
    """Who plays these cases. Where a model does, it is opened, and not asked anything yet.

    Raises:
        InputError: there is no such model, what it needs is not installed, or a setting does not fit it.
    """
    simulator = simulator_of(config)
    if not any(case.conversation_scenario for case in cases):
        return Players(None)
    if isinstance(simulator, ScriptedSimulatorConfig):
        return Players(simulator)
    from agent_eval.simulation.llm import ModelUser

    return Players(ModelUser(open_model(simulator.model, simulator.model_configuration), simulator))


def simulator_of(config: EvalConfig) -> SimulatorConfig:
    """How users are simulated: by a model, unless the config says otherwise."""
    return config.user_simulator_config or LlmBackedSimulatorConfig()


def config_problems(config: EvalConfig) -> Iterator[Problem]:
    """What a config asks for that nobody can play."""
    if isinstance(config.user_simulator_config, LlmAudioSimulatorConfig):
        yield Problem(
            "`llm_audio`, a simulated user who speaks, is not supported",
            path="user_simulator_config.type",
            hint="use `llm_backed`, who writes",
        )
    if config.live_model_config is not None:
        yield Problem(
            "live models (streaming in both directions) are not supported",
            path="live_model_config",
            hint="remove it to talk to the agent in turns",
        )
    if simulator_of(config).max_allowed_invocations == 0:
        path = "user_simulator_config.max_allowed_invocations"
        yield Problem("0 leaves no turn to play", path=path, hint="-1 stands for no limit")


def scenario_problems(scenario: ConversationScenario, config: EvalConfig) -> Iterator[str]:
    """What keeps a scenario from being played."""
    from agent_eval.simulation.instructions import InstructionsError, custom_instructions, instructions
    from agent_eval.simulation.scenario import says_stop

    if not scenario.starting_prompt.strip():
        yield "`starting_prompt` is empty, so the conversation could not begin"
    if says_stop(scenario.starting_prompt):
        yield f"`starting_prompt` holds the stop signal {STOP_SIGNAL}, so the conversation could not begin"
    simulator = simulator_of(config)
    if not isinstance(simulator, ModelSimulatorConfig):
        return
    template = simulator.custom_instructions
    if template and scenario.user_persona is not None and not _names(template, "persona"):
        yield "has a persona, and `custom_instructions` of the config lack {{ persona }}"
    try:
        if template:
            custom_instructions(template, scenario, history="")
        else:
            instructions(scenario)
    except InstructionsError as error:
        yield f"the simulated user's instructions cannot be filled in: {error}"


def _names(template: str, variable: str) -> bool:
    from jinja2 import meta
    from jinja2.sandbox import SandboxedEnvironment

    return variable in meta.find_undeclared_variables(SandboxedEnvironment().parse(template))
