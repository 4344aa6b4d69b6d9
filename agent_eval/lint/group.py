"""A config, the metrics it configures, and the eval sets that are run with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_eval.errors import InputError, Problem
from agent_eval.inputs.project import Project
from agent_eval.lint.sources import ConfigSource, SetSource
from agent_eval.metrics.builtin import Metric
from agent_eval.metrics.configured import ConfiguredMetric, configured_metrics
from agent_eval.metrics.registry import DEFAULT_REGISTRY, MetricEvaluatorRegistry
from agent_eval.schema.config import DEFAULT_CONFIG, INFORMATIONAL_METRICS, EvalConfig


@dataclass(frozen=True, slots=True)
class Group:
    """What is run together."""

    source: ConfigSource | None
    """None for the default config."""
    sets: tuple[SetSource, ...]
    metrics: tuple[ConfiguredMetric, ...]
    """Those of its criteria that are built in or installed, and fit."""
    known: dict[str, Metric]
    """What is known of them."""
    problems: dict[str, list[Problem]]
    """What is wrong with the criteria of known metrics, by name."""
    unknown: tuple[str, ...]
    """Criteria that nobody knows."""
    code_folders: tuple[Path, ...]
    """Where the code of custom metrics may be."""

    @property
    def config(self) -> EvalConfig:
        """The config."""
        return self.source.config if self.source else DEFAULT_CONFIG

    @property
    def has_custom_metrics(self) -> bool:
        """Whether metrics of the user's own are among the criteria, of which nothing is known."""
        return any(name in self.config.criteria for name in self.config.custom_metrics or {})

    def metric(self, name: str) -> ConfiguredMetric | None:
        """A metric by name, if it is among the criteria and fits."""
        return next((metric for metric in self.metrics if metric.name == name), None)


def group_of(source: ConfigSource | None, sets: Sequence[SetSource], project: Project) -> Group:
    """The group; the code of custom metrics is not imported."""
    config = source.config if source else DEFAULT_CONFIG
    own = set(config.custom_metrics or {})
    registry = DEFAULT_REGISTRY.fork()
    names = [name for name in config.criteria if name not in own and name not in INFORMATIONAL_METRICS]
    if any(registry.find(name) is None for name in names):
        registry.load_installed()
    metrics: list[ConfiguredMetric] = []
    problems: dict[str, list[Problem]] = {}
    for name in names:
        if registry.find(name) is not None:
            try:
                metrics.append(_configured(config, name, registry))
            except InputError as error:
                problems[name] = list(error.problems)
    return Group(
        source,
        tuple(sets),
        tuple(metrics),
        {name: metric for name in names if (metric := registry.find(name))},
        problems,
        tuple(name for name in names if registry.find(name) is None),
        _code_folders(source, sets, project),
    )


def _code_folders(
    source: ConfigSource | None, sets: Sequence[SetSource], project: Project
) -> tuple[Path, ...]:
    """Beside the files, in the project, and in the folders of agents."""
    beside = [one.path.resolve().parent for one in (*((source,) if source else ()), *sets)]
    agents = [project.root / folder for folder in project.settings.agents]
    apps = {case.session_input.app_name for one in sets for case in one.cases if case.session_input}
    inside = [folder / app for folder in agents for app in apps if app and Path(app).name == app]
    return tuple(dict.fromkeys([*beside, project.root.resolve(), *agents, *inside]))


def _configured(config: EvalConfig, name: str, registry: MetricEvaluatorRegistry) -> ConfiguredMetric:
    alone = config.model_copy(update={"criteria": {name: config.criteria[name]}})
    return configured_metrics(alone, registry=registry)[0]
