"""ADK's `AgentEvaluator` on this engine: tests move by changing one import."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from agent_eval import serde
from agent_eval.agents.resolve import AgentOptions
from agent_eval.api import finished, given_config, given_eval_set
from agent_eval.inputs.configs import LoadedConfig, default_config, load_config
from agent_eval.inputs.discovery import find_config
from agent_eval.inputs.evalsets import LoadedEvalSet, load_eval_set
from agent_eval.options import Options
from agent_eval.printable import printable
from agent_eval.report.text import call_text, content_text
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.evalset import SessionInput
from agent_eval.schema.result import ExpectedTurn, RunRecord
from agent_eval.schema.trace import IntermediateDataType, get_all_tool_calls
from agent_eval.selection import Given
from agent_eval.stored import Stored

NUM_RUNS = 2
"""As in ADK, where neither the caller nor the config says how often."""


class AgentEvaluator:
    """Evaluates agents in tests, under the names and parameters that ADK has.

    A case that failed, and one that could not be evaluated, raise an AssertionError that shows what was
    expected beside what happened, with the causes.
    """

    @staticmethod
    def find_config_for_test_file(test_file: str) -> EvalConfig:
        """The config that belongs to an eval set file; besides `test_config.json`, those of agent-eval."""
        return _config_for(Path(test_file)).config

    @staticmethod
    async def evaluate(
        agent_module: str,
        eval_dataset_file_path_or_dir: str,
        num_runs: int | None = None,
        agent_name: str | None = None,
        initial_session_file: str | None = None,
        print_detailed_results: bool = True,
        artifact_service: Any = None,
        output_file: str | None = None,
        app_name: str | None = None,
        eval_set_results_manager: Any = None,
    ) -> None:
        """Evaluates an agent on an eval set file, or on each `*.test.json` in a folder and below.

        Args:
            agent_module: a module as in ADK, or any reference that `agent-eval run` takes.
            eval_dataset_file_path_or_dir: the file or folder.
            num_runs: runs of each case; without, what the config says, else 2.
            agent_name: the sub-agent to evaluate, instead of the root agent.
            initial_session_file: the session of cases in the old list format, as JSON.
            print_detailed_results: print each eval set's table and what failed in it.
            artifact_service: where ADK agents find artifacts.
            output_file: a CSV file that a row a metric and turn is added to.
            app_name: under which the results manager keeps results.
            eval_set_results_manager: ADK's, which is given each eval set's result as well.

        Raises:
            AssertionError: a case did not pass.
            AgentEvalError: something cannot be used; nothing was run.
            ValueError: an argument makes no sense, or the folder has no `*.test.json`.
        """
        _check(num_runs, app_name, eval_set_results_manager)
        session = _initial_session(initial_session_file)
        files = _test_files(eval_dataset_file_path_or_dir)
        agent = _AgentChoice(agent_module, agent_name, artifact_service)
        keep = _Keeping(output_file, app_name, eval_set_results_manager)
        failures = [
            await _evaluate(
                agent,
                _with_session(load_eval_set(file), session),
                _config_for(file),
                num_runs,
                print_detailed_results,
                keep,
            )
            for file in files
        ]
        _assert_none(failures)

    @staticmethod
    async def evaluate_eval_set(
        agent_module: str,
        eval_set: Any,
        criteria: dict[str, float] | None = None,
        eval_config: Any = None,
        num_runs: int | None = None,
        agent_name: str | None = None,
        print_detailed_results: bool = True,
        artifact_service: Any = None,
        output_file: str | None = None,
        app_name: str | None = None,
        eval_set_results_manager: Any = None,
    ) -> None:
        """Evaluates an agent on an eval set object, ours or ADK's.

        Args:
            agent_module: a module as in ADK, or any reference that `agent-eval run` takes.
            eval_set: the eval set.
            criteria: thresholds of metrics; they replace `eval_config`.
            eval_config: the config, ours or ADK's.
            num_runs: runs of each case; without, what the config says, else 2.
            agent_name: the sub-agent to evaluate, instead of the root agent.
            print_detailed_results: print the table and what failed.
            artifact_service: where ADK agents find artifacts.
            output_file: a CSV file that a row a metric and turn is added to.
            app_name: under which the results manager keeps results.
            eval_set_results_manager: ADK's, which is given the result as well.

        Raises:
            AssertionError: a case did not pass.
            AgentEvalError: something cannot be used; nothing was run.
            ValueError: an argument makes no sense, or there is neither config nor case.
        """
        _check(num_runs, app_name, eval_set_results_manager)
        if not eval_set or not eval_set.eval_cases:
            raise ValueError("the eval set has no cases, so nothing could pass or fail")
        config: BaseModel | dict[str, Any] | None = {"criteria": criteria} if criteria else eval_config
        if config is None:
            raise ValueError("`eval_config` is required")
        failure = await _evaluate(
            _AgentChoice(agent_module, agent_name, artifact_service),
            given_eval_set(eval_set),
            given_config(config),
            num_runs,
            print_detailed_results,
            _Keeping(output_file, app_name, eval_set_results_manager),
        )
        _assert_none([failure])

    @staticmethod
    def migrate_eval_data_to_new_schema(
        old_eval_data_file: str, new_eval_data_file: str, initial_session_file: str | None = None
    ) -> None:
        """Writes an eval set of the old list format in the current schema.

        Raises:
            ValueError: a file is not named.
            InputError: the old file is no eval set.
            OSError: the new one cannot be written.
        """
        if not old_eval_data_file or not new_eval_data_file:
            raise ValueError("both the old and the new file have to be named")
        session = _initial_session(initial_session_file)
        eval_set = _with_session(load_eval_set(Path(old_eval_data_file)), session).eval_set
        document = serde.from_json(serde.model_to_json(eval_set, compact=True))
        Path(new_eval_data_file).write_bytes(serde.to_json(document, indent=True) + b"\n")


@dataclass(frozen=True, slots=True)
class _AgentChoice:
    """Which agent, and what it is given."""

    module: str
    sub_agent: str | None
    artifacts: Any


@dataclass(frozen=True, slots=True)
class _Keeping:
    """Where results go besides the results folder."""

    csv_file: str | None
    app_name: str | None
    manager: Any


def _check(num_runs: int | None, app_name: str | None, manager: Any) -> None:
    if num_runs is not None and num_runs < 1:
        raise ValueError(f"`num_runs` must be at least 1, got {num_runs}")
    if manager is not None and not app_name:
        raise ValueError("`eval_set_results_manager` needs an `app_name`")


def _test_files(place: str) -> list[Path]:
    if not Path(place).is_dir():
        return [Path(place)]
    files = sorted(Path(place).glob("**/*.test.json"))
    if not files:
        raise ValueError(f"there is no `*.test.json` in {place}, so there is nothing to evaluate")
    return files


def _config_for(eval_set: Path) -> LoadedConfig:
    found = find_config(eval_set)
    return load_config(Path(found.reference)) if found else default_config()


def _initial_session(file: str | None) -> SessionInput | None:
    if not file:
        return None
    document = json.loads(Path(file).read_text(encoding="utf-8"))
    return SessionInput.model_validate({"app_name": "", "user_id": "", **document}) if document else None


def _with_session(loaded: LoadedEvalSet, session: SessionInput | None) -> LoadedEvalSet:
    """The set with a session for its cases, which only the old list format lacks a place for."""
    if session is None:
        return loaded
    if isinstance(serde.from_json(loaded.path.read_bytes()), dict):
        raise ValueError(f"{loaded.path} says itself where its cases start: it takes no initial session file")
    cases = [
        case if case.session_input else case.model_copy(update={"session_input": session})
        for case in loaded.eval_set.eval_cases
    ]
    return replace(loaded, eval_set=loaded.eval_set.model_copy(update={"eval_cases": cases}))


async def _evaluate(
    agent: _AgentChoice,
    eval_set: LoadedEvalSet,
    config: LoadedConfig,
    num_runs: int | None,
    show: bool,
    keep: _Keeping,
) -> str | None:
    """Runs one eval set; the text of what did not pass."""
    from agent_eval.report.failures import failure_text

    multi = config.config.multi_run_config
    options = Options(
        agent=agent.module,
        num_runs=num_runs or (multi.num_runs if "num_runs" in multi.model_fields_set else NUM_RUNS),
        agents=AgentOptions(sub_agent=agent.sub_agent, artifacts=agent.artifacts),
        command="AgentEvaluator",
    )
    (one,) = await finished(options, Given(eval_set=eval_set, config=config))
    stored = Stored(one.result, one.summary, one.journal)
    if show:
        _print(stored)
    if keep.csv_file:
        _write_csv(keep.csv_file, stored)
    if keep.manager is not None:
        _hand_over(stored, keep)
    totals = one.result.totals
    if totals.passed == totals.cases:
        return None
    count = f"{totals.failed} failed, {totals.not_evaluated} not evaluated of {totals.cases} cases"
    return (
        f"{one.result.eval_set.eval_set_id}: {count}\n\n{failure_text(one.result, stored.records())}\n"
        f"Result: {one.summary}"
    )


def _assert_none(failures: Iterable[str | None]) -> None:
    told = [failure for failure in failures if failure]
    if told:
        raise AssertionError("\n\n".join(told))


def _print(stored: Stored) -> None:
    from rich.console import Console

    from agent_eval.report.console import print_result
    from agent_eval.report.failures import print_details

    console = Console(highlight=False, markup=False, emoji=False)
    print_result(console, stored.result)
    print_details(console, stored.records())


def _hand_over(stored: Stored, keep: _Keeping) -> None:
    """Gives a result to ADK's manager, in ADK's form."""
    from google.adk.evaluation.eval_result import EvalCaseResult

    from agent_eval.recompute import run_status
    from agent_eval.store.adk_results import adk_document

    app_name = keep.app_name or ""
    document = adk_document(stored.result, stored.records(), app_name=app_name, status_of=run_status)
    results = [EvalCaseResult.model_validate(one) for one in document["eval_case_results"]]
    keep.manager.save_eval_set_result(app_name, stored.result.eval_set.eval_set_id, results)


_COLUMNS = (
    "eval_set_id",
    "eval_id",
    "metric_name",
    "threshold",
    "score",
    "eval_status",
    "prompt",
    "expected_response",
    "actual_response",
    "expected_tool_calls",
    "actual_tool_calls",
)


def _write_csv(file: str, stored: Stored) -> None:
    """Adds a row a metric and turn to a file that begins with ADK's columns."""
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, _COLUMNS)
        if is_new:
            writer.writeheader()
        for record in stored.records():
            writer.writerows(_rows(record))


def _rows(record: RunRecord) -> Iterator[dict[str, Any]]:
    expected = record.expected or []
    for metric in record.metrics:
        for index, (turn, row) in enumerate(zip(record.invocations, metric.per_invocation, strict=False)):
            wanted = expected[index] if index < len(expected) else ExpectedTurn()
            cells = {
                "eval_set_id": record.eval_set_id,
                "eval_id": record.eval_id,
                "metric_name": metric.metric_name,
                "eval_status": row.status.value,
                "prompt": content_text(turn.user_content),
                "expected_response": content_text(wanted.final_response),
                "actual_response": content_text(turn.final_response),
                "expected_tool_calls": _calls(wanted.intermediate_data),
                "actual_tool_calls": _calls(turn.intermediate_data),
            }
            numbers = {"threshold": metric.threshold, "score": row.score}
            yield {name: _cell(text) for name, text in cells.items()} | numbers


def _cell(text: str) -> str:
    """A text as a spreadsheet shows it: one that would be a formula begins with an apostrophe."""
    text = printable(text)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text


def _calls(data: IntermediateDataType | None) -> str:
    return "\n".join(call_text(call) for call in get_all_tool_calls(data))
