"""Evaluations from code: `evaluate`, and `evaluate_async` where an event loop runs already."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import inspect
import logging
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypedDict, TypeVar, Unpack

from pydantic import BaseModel

from agent_eval import pipeline, serde
from agent_eval.agents.base import Agent
from agent_eval.agents.resolve import AgentOptions, adapted
from agent_eval.engine.progress import Progress
from agent_eval.errors import did_you_mean
from agent_eval.inputs.choice import Choice
from agent_eval.inputs.configs import LoadedConfig, parse_config
from agent_eval.inputs.evalsets import LoadedEvalSet, parse_eval_set
from agent_eval.options import JudgeOptions, Options
from agent_eval.pipeline import Finished
from agent_eval.preparation import plan_evaluation
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.evalset import EvalSet
from agent_eval.schema.result import EvalResult
from agent_eval.selection import Given

logger = logging.getLogger("agent_eval")

P = ParamSpec("P")
T = TypeVar("T")

Place = str | os.PathLike[str]
AgentLike = Any
"""What is evaluated: a reference as on the command line, or the agent itself: a callable that takes
`(message, session)`, an agent or app of Google ADK, or a factory of one."""
EvalSetLike = Place | EvalSet
ConfigLike = Place | EvalConfig | Mapping[str, Any]


class Settings(TypedDict, total=False):
    """How it is run; each has the meaning and the default of the option of `agent-eval run` with its name."""

    num_runs: int | None
    parallelism: int | Literal["auto"]
    rpm: int | None
    tpm: int | None
    timeout: float | None
    metric_timeout: float
    seed: int
    retry_crashed: int
    stop_when_decided: bool
    fail_fast: bool
    circuit_breaker: int | None
    url: str | None
    app_name: str | None
    headers: tuple[tuple[str, str], ...]
    env_file: str | None
    agents: AgentOptions
    judges: JudgeOptions
    output: str | None
    command: str


async def evaluate_async(
    agent: AgentLike | None,
    eval_set: EvalSetLike,
    *,
    config: ConfigLike | None = None,
    cases: Sequence[str] = (),
    progress: Progress | None = None,
    **settings: Unpack[Settings],
) -> EvalResult:
    """Runs an eval set against an agent, as `agent-eval run` does, and gives the result it wrote.

    `evaluate` is the same where no event loop runs yet: not in a notebook, a server, an async test.

    Args:
        agent: the agent, or where it is; None for the one that the project or the cases name.
        eval_set: an eval set, or its file.
        config: an eval config, its content, or its file; without it, the one found for the eval set.
        cases: the ids of those to run; without, all of them.
        progress: who is told of each run.
        **settings: how it is run, see `Settings`.

    Raises:
        AgentEvalError: something cannot be used; nothing was run.
        OSError: results cannot be written.
    """
    unknown = [name for name in settings if name not in Settings.__annotations__]
    if unknown:
        hint = did_you_mean(unknown[0], Settings.__annotations__)
        raise TypeError(f"there is no setting `{unknown[0]}`" + (f" ({hint})" if hint else ""))
    named = agent is None or isinstance(agent, (str, os.PathLike))
    return (
        await finished(
            Options(
                agent=os.fspath(agent) if named and agent is not None else None,
                eval_sets=() if isinstance(eval_set, BaseModel) else (os.fspath(eval_set),),
                choice=Choice(case_ids=tuple(cases)),
                config=os.fspath(config) if isinstance(config, (str, os.PathLike)) else None,
                **({"command": "agent_eval.evaluate"} | settings),
            ),
            Given(
                agent=None if named else given_agent(agent, settings.get("agents", AgentOptions())),
                eval_set=given_eval_set(eval_set) if isinstance(eval_set, BaseModel) else None,
                config=given_config(config) if isinstance(config, (BaseModel, Mapping)) else None,
            ),
            progress,
        )
    )[0].result


def _blocking(name: str, function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """The same function under another name, for where no event loop runs yet.

    It raises a RuntimeError where one does.
    """

    @functools.wraps(function)
    def blocking(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            told = f"an event loop is running here: use `await agent_eval.{function.__name__}(...)`"
            raise RuntimeError(told)
        return asyncio.run(function(*args, **kwargs))

    blocking.__name__ = blocking.__qualname__ = name
    return blocking


evaluate = _blocking("evaluate", evaluate_async)


async def finished(options: Options, given: Given, progress: Progress | None = None) -> list[Finished]:
    """Plans and makes an evaluation; what is to be known of it is logged.

    Raises:
        AgentEvalError: something cannot be used; nothing was run.
        OSError: results cannot be written.
    """
    evaluation = plan_evaluation(options, given)
    for warning in evaluation.warnings:
        logger.warning(warning)
    with chdir(Path.cwd()):  # the folder that agents change to is theirs
        results = await pipeline.evaluate(evaluation, progress)
    for warning in evaluation.troubles:
        logger.warning(warning)
    return results


def given_agent(agent: Any, options: AgentOptions) -> Agent:
    """An agent object as one that can be run.

    Raises:
        AgentError: it is of no known kind.
    """
    if inspect.iscoroutinefunction(getattr(agent, "open", None)):  # it speaks the protocol itself
        adapter: Agent = agent
        return adapter
    name = str(getattr(agent, "name", None) or getattr(agent, "__name__", None) or type(agent).__name__)
    return adapted(agent, name, f"the agent `{name}`", None, options)


def given_eval_set(eval_set: BaseModel) -> LoadedEvalSet:
    """An eval set object, ours or ADK's, checked like a file.

    Raises:
        InputError: it is no eval set.
    """
    data = _dumped(eval_set)
    name = f"eval set {getattr(eval_set, 'eval_set_id', '')}".strip()
    return LoadedEvalSet(parse_eval_set(data, name, ""), Path(name), hashlib.sha256(data).hexdigest())


def given_config(config: BaseModel | Mapping[str, Any]) -> LoadedConfig:
    """A config object, ours or ADK's, or the content of a config file.

    Raises:
        InputError: it is no config.
    """
    data = _dumped(config) if isinstance(config, BaseModel) else serde.to_json(dict(config))
    return LoadedConfig(parse_config(data, "config"), None, hashlib.sha256(data).hexdigest())


def _dumped(value: BaseModel) -> bytes:
    """As JSON, with the keys of subclasses and without those left at their default."""
    return value.model_dump_json(exclude_unset=True, serialize_as_any=True).encode()
