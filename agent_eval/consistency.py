"""What only an eval set and its config together can tell, before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from agent_eval.errors import InputError, Problem, did_you_mean
from agent_eval.inputs.configs import LoadedConfig
from agent_eval.inputs.evalsets import LoadedEvalSet
from agent_eval.metrics.builtin import BUILT_IN
from agent_eval.metrics.configured import ConfiguredMetric
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.patterns import checked_pattern
from agent_eval.schema.trace import get_all_tool_calls
from agent_eval.simulation.players import config_problems, scenario_problems


def check_scorable(
    metrics: Sequence[ConfiguredMetric],
    cases: Sequence[EvalCase],
    loaded: LoadedEvalSet,
    config: LoadedConfig,
) -> None:
    """Checks that every metric can score every case.

    Raises:
        InputError: one cannot; everything found wrong at once.
    """
    problems = [*criteria_problems(metrics, config), *_reference_problems(metrics, cases, config)]
    problems += _pattern_problems(cases, str(loaded.path))
    problems += [
        Problem(f"case `{case.eval_id}`: {told}", str(loaded.path))
        for metric in metrics
        for case in cases
        for told in metric.case_problems(case)
    ]
    if problems:
        raise InputError(*problems)


def criteria_problems(metrics: Sequence[ConfiguredMetric], config: LoadedConfig) -> Iterator[Problem]:
    """What is wrong with a config, whatever the cases."""
    file = str(config.path) if config.path else None
    if not any(metric.gates for metric in metrics):
        yield Problem(
            "there are no criteria, so nothing could pass or fail", file, "criteria", hint="name a metric"
        )
    for name in config.config.multi_run_config.cross_run_scoring_by_metric:
        if name not in config.config.criteria:
            yield Problem(
                f"`{name}` is not among the criteria",
                file,
                f"multi_run_config.cross_run_scoring_by_metric.{name}",
                hint=did_you_mean(name, config.config.criteria)
                or "only a metric with a threshold has a rule",
            )
    for metric in metrics:
        for told in metric.problems:
            yield Problem(told, file, f"criteria.{metric.name}")


def check_playable(cases: Sequence[EvalCase], loaded: LoadedEvalSet, config: LoadedConfig) -> None:
    """Checks that somebody can play every scenario.

    Raises:
        InputError: nobody can play one of them.
    """
    file = str(config.path) if config.path else None
    problems = [replace(problem, file=file) for problem in config_problems(config.config)]
    problems += [
        Problem(f"case `{case.eval_id}`: {told}", str(loaded.path))
        for case in cases
        if case.conversation_scenario
        for told in scenario_problems(case.conversation_scenario, config.config)
    ]
    if problems:
        raise InputError(*problems)


def _reference_problems(
    metrics: Sequence[ConfiguredMetric], cases: Sequence[EvalCase], config: LoadedConfig
) -> Iterator[Problem]:
    """The metrics that compare with expected turns, which scenarios do not have."""
    scenarios = [case.eval_id for case in cases if case.conversation_scenario]
    comparing = [metric.name for metric in metrics if metric.needs_reference]
    if not scenarios:
        return
    more = f" (and {len(scenarios) - 1} more)" if len(scenarios) > 1 else ""
    fitting = ", ".join(
        metric.info.metric_name
        for metric in BUILT_IN
        if metric.info.requires_threshold and not metric.needs_reference
    )
    for name in comparing:
        yield Problem(
            f"`{name}` compares with expected turns, "
            f"and case `{scenarios[0]}`{more} is a scenario, which has none",
            str(config.path) if config.path else "the default config, as no config was found",
            f"criteria.{name}",
            hint=f"those that fit are {fitting}, and metrics of your own" if name == comparing[-1] else None,
        )


def _pattern_problems(cases: Sequence[EvalCase], file: str) -> Iterator[Problem]:
    """The expected arguments whose patterns cannot be used."""
    for case in cases:
        for number, turn in enumerate(case.conversation or [], 1):
            for call in get_all_tool_calls(turn.intermediate_data):
                try:
                    checked_pattern(call.args)
                except ValueError as error:
                    yield Problem(f"case `{case.eval_id}`, turn {number}, tool `{call.name}`: {error}", file)
