"""Scenarios into eval sets: those of a file, or those that a model writes for an agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_eval.agents.base import Agent
from agent_eval.agents.resolve import AgentOptions, resolve_agent
from agent_eval.engine.run import DEFAULT_USER
from agent_eval.errors import InputError, Problem
from agent_eval.inputs.documents import read_bytes
from agent_eval.inputs.scenarios import Extended, case_of, load_scenarios, load_session_input, with_cases
from agent_eval.judge.base import ModelError
from agent_eval.judge.judges import Judges
from agent_eval.schema.config import EvalConfig, JudgeModelOptions
from agent_eval.schema.evalset import ConversationScenario, EvalCase, SessionInput
from agent_eval.schema.trace import AppDetails
from agent_eval.simulation.generation import MAX_COUNT, Wish, generate
from agent_eval.simulation.players import scenario_problems
from agent_eval.store.summary import write_whole


@dataclass(frozen=True, slots=True)
class Written:
    """An eval set that scenarios were added to."""

    path: Path
    added: list[EvalCase]
    known: list[str]
    """Ids that the set had already."""


def eval_set_path(eval_set: str, agent: str | None) -> Path:
    """Where an eval set is: a path that ends in `.json`, or an id of a set in the agent's folder.

    Raises:
        InputError: neither.
    """
    if eval_set.endswith(".json"):
        return Path(eval_set)
    if agent is None or Path(eval_set).name != eval_set or not Path(agent).is_dir():
        hint = "name a file that ends in .json, or an agent's folder and an id: `my_agent orders`"
        raise InputError(Problem(f"`{eval_set}` is no eval set", hint=hint))
    return Path(agent) / f"{eval_set}.evalset.json"


def add_scenarios(eval_set: Path, scenarios: Path, session: SessionInput | None) -> Written:
    """Adds the scenarios of a file as cases, each with the session. A new eval set is made if there is none.

    Raises:
        InputError: a file cannot be read, or a scenario not be played; nothing was written.
        OSError: the eval set cannot be written.
    """
    loaded = load_scenarios(scenarios)
    problems = [
        Problem(told, str(scenarios), f"scenarios[{index}]")
        for index, scenario in enumerate(loaded)
        for told in scenario_problems(scenario, EvalConfig())
    ]
    if problems:
        raise InputError(*problems)
    return _written(eval_set, loaded, session)


def session_of(file: str | None, app_name: str | None) -> SessionInput | None:
    """The session of new cases: that of a file, else a plain one of the app; None without either.

    Raises:
        InputError: the file cannot be read.
    """
    if file is not None:
        return load_session_input(Path(file))
    return SessionInput(app_name=app_name, user_id=DEFAULT_USER) if app_name else None


async def generate_scenarios(
    agent: str, eval_set: Path, model: str, wish: Wish, session_file: str | None
) -> Written:
    """Has a model write scenarios for an agent, and adds them as cases.

    Raises:
        AgentEvalError: the agent, the model or a file cannot be used, or the model's answer cannot;
            nothing was written.
        OSError: the eval set cannot be written.
    """
    if not 1 <= wish.count <= MAX_COUNT:
        raise InputError(Problem(f"--count {wish.count} is not between 1 and {MAX_COUNT}"))
    with_cases(_content(eval_set), eval_set, [])  # before the model is paid for
    resolved = resolve_agent(agent, AgentOptions())
    session = session_of(session_file, resolved.name)
    return _written(eval_set, await _generated(resolved, model, wish), session)


async def _generated(agent: Agent, model: str, wish: Wish) -> list[ConversationScenario]:
    judges = Judges(code_folders=(Path.cwd(),))
    try:
        judge = judges.judge(JudgeModelOptions(judge_model=model))
        details = await _details(agent)
        if details is None and not (wish.instruction or wish.environment):
            hint = "give it `instruction` and `tools` attributes, or say with --instruction what it is for"
            told = f"`{agent.name}` shows neither instructions nor tools to write scenarios from"
            raise InputError(Problem(told, hint=hint))
        if problems := await judges.preflight():
            raise InputError(*problems)
        return await generate(judge, details, wish)
    except ModelError as error:
        raise InputError(Problem(f"no scenarios were written: {error}")) from error
    finally:
        await judges.aclose()


async def _details(agent: Agent) -> AppDetails | None:
    """What an agent shows of itself.

    Raises:
        InputError: it cannot be made, or one of its toolsets cannot list its tools.
    """
    try:
        return await agent.details()
    except Exception as error:  # whatever a factory, `reset_data` or a toolset raises
        told = f"`{agent.name}` cannot tell its instructions and tools: {type(error).__name__}: {error}"
        raise InputError(Problem(told)) from error
    finally:
        await agent.aclose()


def _written(path: Path, scenarios: Sequence[ConversationScenario], session: SessionInput | None) -> Written:
    cases = {case.eval_id: case for case in (case_of(scenario, session) for scenario in scenarios)}
    extended: Extended = with_cases(_content(path), path, list(cases.values()))
    if extended.added:
        write_whole(extended.data, path.resolve())
    return Written(path, [cases[eval_id] for eval_id in extended.added], extended.known)


def _content(path: Path) -> bytes | None:
    """What is in an eval set file; None where there is none yet.

    Raises:
        InputError: it cannot be read, or there is no place for it.
    """
    if path.exists():
        return read_bytes(path)
    if not path.parent.is_dir():
        raise InputError(Problem(f"there is no folder `{path.parent}`", str(path)))
    return None
