"""What a config asks for: its metrics and judges, ready to score, and how results tell of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_eval.errors import InputError
from agent_eval.inputs.configs import LoadedConfig
from agent_eval.inputs.project import Project
from agent_eval.judge.cache import JudgeCache
from agent_eval.judge.judges import Judges
from agent_eval.metrics.configured import ConfiguredMetric, configured_metrics
from agent_eval.metrics.scoring import Scorer
from agent_eval.options import JudgeOptions
from agent_eval.schema.result import ConfigRef
from agent_eval.selection import ReadSet


def metrics_of(
    read: ReadSet, project: Project, judges: Judges, folders: Sequence[Path] = ()
) -> list[ConfiguredMetric]:
    """The metrics of a config; their code is looked for beside the files, in the project and in `folders`.

    Raises:
        InputError: some are not known, cannot be imported, or have options that do not fit.
    """
    places = [read.loaded.path.resolve().parent, project.root.resolve(), *folders]
    return config_metrics(read.config, judges, places)


def config_metrics(config: LoadedConfig, judges: Judges, folders: Sequence[Path]) -> list[ConfiguredMetric]:
    """The metrics of a config; their code is looked for beside it and in `folders`.

    Raises:
        InputError: some are not known, cannot be imported, or have options that do not fit.
    """
    beside = [config.path.resolve().parent] if config.path else []
    return configured_metrics(
        config.config,
        code_folders=tuple(dict.fromkeys([*beside, *folders])),
        file=str(config.path) if config.path else None,
        judges=judges,
    )


def open_judges(
    options: JudgeOptions, code_folders: tuple[Path, ...], calls: Iterator[int] | None = None
) -> Judges:
    """Where metrics get their judges; models of the user's own code are looked for in the folders."""
    return Judges(
        parallelism=options.parallelism,
        max_calls=options.max_calls,
        calls=calls,
        cache=JudgeCache() if options.cache else None,
        code_folders=code_folders,
    )


def built_scorer(metrics: Sequence[ConfiguredMetric], timeout: float | None, config: LoadedConfig) -> Scorer:
    """The evaluators, built.

    Raises:
        InputError: one of them cannot be.
    """
    try:
        return Scorer(metrics, timeout)
    except InputError as error:
        file = str(config.path) if config.path else None
        raise InputError(*(replace(problem, file=file) for problem in error.problems)) from None


def config_ref(config: LoadedConfig, metrics: Sequence[ConfiguredMetric]) -> ConfigRef:
    """A config as results have it: every criterion with all its keys, and nothing secret."""
    return ConfigRef(
        path=str(config.path) if config.path else None,
        sha256=config.sha256,
        criteria={
            metric.name: _without_headers(metric.eval_metric.criterion.model_dump(mode="json"))
            for metric in metrics
            if metric.eval_metric.criterion
        },
        custom_metrics={
            metric.name: path for metric in metrics if (path := metric.eval_metric.custom_function_path)
        },
        multi_run_config=config.config.multi_run_config.model_dump(mode="json"),
    )


def _without_headers(criterion: dict[str, Any]) -> dict[str, Any]:
    """A criterion without what is sent along to the judge's endpoint, which may be secret."""
    match criterion:
        case {
            "judge_model_options": {"judge_model_config": {"http_options": {"headers": dict() as headers}}}
        }:
            headers.update(dict.fromkeys(headers, "***"))
    return criterion
