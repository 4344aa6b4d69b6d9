"""Plays a failure that was written down: real runs, real scores, real verdicts, and their causes."""

from __future__ import annotations

import asyncio
import json
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_eval.agents.factory import given
from agent_eval.agents.python import PythonAgent, Session
from agent_eval.aggregate.outcome import outcome_of
from agent_eval.aggregate.verdict import case_result, totals
from agent_eval.diagnose.diagnosis import explained
from agent_eval.engine.run import play, score
from agent_eval.inputs.configs import parse_config
from agent_eval.inputs.evalsets import parse_eval_set
from agent_eval.load.traffic import Traffic
from agent_eval.metrics.configured import configured_metrics
from agent_eval.metrics.scoring import Scorer
from agent_eval.plan import RunSpec
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import (
    AgentRef,
    Cause,
    ConfigRef,
    EvalResult,
    EvalSetRef,
    MetricResult,
    Provenance,
    RunRecord,
    StoppedBy,
)
from agent_eval.schema.trace import Content, Event
from agent_eval.simulation.static import StaticPlayer
from tests.diagnose.failure import Failure, Step, Turn

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Played:
    """A failure that was played."""

    failure: Failure
    result: EvalResult
    records: list[RunRecord]

    @property
    def causes(self) -> list[Cause]:
        """Those that the failure is about."""
        if self.failure.metric == "*":
            return self.result.causes
        (*_, case) = self.result.cases
        if not self.failure.metric:
            return case.causes
        (metric,) = (one for one in case.metrics if one.metric_name == self.failure.metric)
        return metric.causes

    @property
    def first(self) -> str:
        """The code that comes first."""
        return self.causes[0].code if self.causes else "none"


def played(failure: Failure) -> Played:
    """The failure's result and records, read back from JSON as they would be from disk."""
    result, records = asyncio.run(_played(failure))
    return Played(failure, EvalResult.model_validate_json(result.model_dump_json()), records)


async def _played(failure: Failure) -> tuple[EvalResult, list[RunRecord]]:
    config = parse_config(json.dumps(failure.config).encode(), "config.json")
    eval_set = parse_eval_set(json.dumps(eval_set_of(failure)).encode(), "set.json", "set")
    local = {name: value for name, value in config.criteria.items() if not _is_given(failure, name)}
    metrics = configured_metrics(config.model_copy(update={"criteria": local}), code_folders=(ROOT,))
    scorer = Scorer(metrics, timeout=0.5)
    records: list[RunRecord] = []
    for eval_case in eval_set.eval_cases:
        scripts = failure.cases[eval_case.eval_id].runs
        runs = max(len(scripts), config.multi_run_config.num_runs)
        for run_index in range(runs):
            script = scripts[run_index % len(scripts)]
            record = await _run(failure, eval_case, config, script, run_index, scorer)
            judged = failure.cases[eval_case.eval_id].judged.items()
            given = [] if record.error else [_metric(name, fields, run_index) for name, fields in judged]
            end = failure.cases[eval_case.eval_id].stopped_by
            more = {"metrics": [*given, *record.metrics], "stopped_by": end and StoppedBy(end)}
            record = record.model_copy(update=more)
            records.append(RunRecord.model_validate_json(record.model_dump_json(exclude_defaults=True)))
    criteria = {name: config.criterion(name) for name in config.criteria}
    criteria |= {one.name: one.eval_metric.criterion for one in metrics if one.eval_metric.criterion}
    dumped = {name: criterion.model_dump(mode="json") for name, criterion in criteria.items()}
    return explained(_result(failure, config, dumped, records), records), records


def _is_given(failure: Failure, name: str) -> bool:
    return any(name in case.judged for case in failure.cases.values())


def _metric(name: str, fields: dict[str, Any], run_index: int) -> MetricResult:
    by_run = fields.get("by_run")
    return MetricResult.model_validate({"metric_name": name, **(by_run[run_index] if by_run else fields)})


async def _run(
    failure: Failure,
    case: EvalCase,
    config: EvalConfig,
    script: tuple[Turn, ...],
    run_index: int,
    scorer: Scorer,
) -> RunRecord:
    spec = RunSpec(0, "set", case, config, "desk", run_index, seed=run_index, timeout=0.5)
    agent = PythonAgent(failure.agent, given(_scripted(script)))
    spoken = (case.conversation or parse_turns(script))[: failure.cases[case.eval_id].ends_after]
    impatient = Traffic(tries=1)
    return await score(await play(spec, agent, lambda: StaticPlayer(spoken), impatient), scorer)


def _scripted(script: tuple[Turn, ...]) -> Callable[..., Any]:
    """An agent that does what the script says, turn by turn."""

    async def desk(message: Content, session: Session) -> Any:
        steps = script[len(session.history)].steps
        for step in steps:
            if "call" in step:
                await session.call_tool(_tool(step), **step["args"])
            elif "code" in step:
                _execute(step["code"], "agent.py", session)
            elif "wait" in step:
                await asyncio.sleep(step["wait"])
            elif "event" in step:
                yield Event.model_validate(step["event"])
            elif "say" in step:
                yield step["say"]

    return desk


def _tool(step: Step) -> Callable[..., Any]:
    body = f"raise {step['raises']}" if step["raises"] else f"return {step['returns']!r}"
    names: dict[str, Any] = {}
    name = step["call"]
    plain = name if name.isidentifier() else "tool"
    _execute(f"def {plain}(**arguments):\n    {body}", "tools.py", names=names)
    names[plain].__name__ = name
    tool: Callable[..., Any] = names[plain]
    return tool


def _execute(
    source: str, file: str, session: Session | None = None, names: dict[str, Any] | None = None
) -> None:
    """Runs code that tracebacks show with its lines, as they do for code in files."""
    name = f"/project/desk/{len(linecache.cache)}/{file}"
    linecache.cache[name] = (len(source), None, [line + "\n" for line in source.splitlines()], name)
    exec(compile(source, name, "exec"), {"session": session} if names is None else names)


def eval_set_of(failure: Failure) -> dict[str, Any]:
    """The eval set document."""
    return {
        "eval_set_id": "set",
        "eval_cases": [
            {
                "eval_id": eval_id,
                "session_input": {"app_name": case.app_name, "user_id": "u1", "state": case.state},
                **(
                    {"conversation_scenario": {"starting_prompt": "hi", "conversation_plan": "ask"}}
                    if case.is_scenario
                    else {"conversation": [_turn(turn) for turn in case.runs[0]]}
                ),
                **case.keys,
            }
            for eval_id, case in failure.cases.items()
        ],
    }


def parse_turns(script: tuple[Turn, ...]) -> list[Any]:
    """The user's side of a script."""
    document = {
        "eval_set_id": "s",
        "eval_cases": [{"eval_id": "c", "conversation": [_turn(t) for t in script]}],
    }
    return parse_eval_set(json.dumps(document).encode(), "s.json", "s").eval_cases[0].conversation or []


def _turn(turn: Turn) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"text": turn.user}]
    if turn.attached:
        parts.append({"inline_data": {"mime_type": turn.attached, "data": "aGk="}})
    found: dict[str, Any] = {"user_content": {"role": "user", "parts": parts}}
    if turn.text is not None:
        found["final_response"] = {"role": "model", "parts": [{"text": turn.text}]}
    if turn.calls is not None:
        found["intermediate_data"] = {
            "tool_uses": [{"name": name, "args": args} for name, args in turn.calls],
            "tool_responses": [{"name": name, "response": given} for name, given in turn.responses],
        }
    if turn.rubrics:
        found["rubrics"] = list(turn.rubrics)
    return found


def _result(
    failure: Failure, config: EvalConfig, criteria: dict[str, Any], records: list[RunRecord]
) -> EvalResult:
    cases = [
        case_result(
            "set",
            eval_id,
            "",
            _with_runs(config, [r for r in records if r.eval_id == eval_id]),
            [outcome_of(record) for record in records if record.eval_id == eval_id],
        )
        for eval_id in failure.cases
    ]
    return EvalResult(
        result_id="r",
        created="2026-01-31T09:30:00Z",
        eval_set=EvalSetRef(eval_set_id="set", path="set.json", sha256=""),
        agent=AgentRef(name=failure.agent, kind="python", reference=failure.agent),
        config=ConfigRef(
            path="config.json",
            sha256="",
            criteria=criteria,
            custom_metrics={n: c.code_config.name for n, c in (config.custom_metrics or {}).items()},
        ),
        provenance=Provenance(command="", seed=0, git_commit=None, git_dirty=None, packages={}),
        totals=totals(cases, [outcome_of(record) for record in records], 0.0),
        cases=cases,
    )


def _with_runs(config: EvalConfig, records: list[RunRecord]) -> EvalConfig:
    multi = config.multi_run_config.model_copy(update={"num_runs": len(records)})
    return config.model_copy(update={"multi_run_config": multi})
