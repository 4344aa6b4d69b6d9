"""Checks of a config by itself (AE731 to AE741)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from agent_eval import serde
from agent_eval.errors import did_you_mean
from agent_eval.inputs.documents import is_yaml
from agent_eval.lint.findings import Edit, Finding
from agent_eval.lint.group import Group
from agent_eval.lint.sources import ConfigSource, Steps
from agent_eval.metrics.registry import DEFAULT_REGISTRY
from agent_eval.schema.config import INFORMATIONAL_METRICS, BaseCriterion, Better

_LOW = 0.3
"""Thresholds in the lowest part of a metric's range, up to this share of it, let nearly all pass."""


def no_criteria(group: Group, source: ConfigSource) -> Iterator[Finding]:
    """A config under which nothing could pass or fail."""
    if not group.config.criteria:
        yield source.error(
            "AE731",
            "there are no criteria, so nothing could pass or fail",
            ("criteria",),
            hint="name a metric",
        )


def unknown_metrics(group: Group, source: ConfigSource) -> Iterator[Finding]:
    """Criteria that are no metrics."""
    known = [metric.info.metric_name for metric in DEFAULT_REGISTRY.metrics()]
    known += [*INFORMATIONAL_METRICS, *(group.config.custom_metrics or {})]
    for name in group.unknown:
        yield source.error(
            "AE732",
            f"`{name}` is neither a metric nor declared in `custom_metrics`",
            ("criteria", name),
            hint=did_you_mean(name, known) or "`agent-eval metrics` lists the metrics",
        )


def bad_options(group: Group, source: ConfigSource) -> Iterator[Finding]:
    """Options that do not fit their metric."""
    for name, problems in group.problems.items():
        for problem in problems:
            steps = (problem.path or f"criteria.{name}").split(".")
            yield source.error("AE733", problem.message, tuple(steps), hint=problem.hint)
    for metric in group.metrics:
        for told in metric.problems:
            yield source.error("AE733", told, ("criteria", metric.name))


def unknown_options(group: Group, source: ConfigSource) -> Iterator[Finding]:
    """Keys of a criterion that its metric does not have."""
    for name, metric in group.known.items():
        criterion = group.config.criteria[name]
        known = list(metric.criterion_type.model_fields)
        extra = (criterion.model_extra or {}) if isinstance(criterion, BaseCriterion) else {}
        typed = {field.alias for field in metric.criterion_type.model_fields.values()}
        for key in extra:
            if key not in known and key not in typed:
                yield source.warning(
                    "AE703",
                    f"`{name}` has no option `{key}`, and passes it over",
                    ("criteria", name, key),
                    hint=did_you_mean(key, known) or _options(known),
                )


def _options(known: list[str]) -> str:
    own = [name for name in known if name not in BaseCriterion.model_fields]
    return f"it has {', '.join(own)}" if own else "it has none but `threshold`"


def informational(group: Group, source: ConfigSource) -> Iterator[Finding]:
    """Metrics that are always reported and never gate."""
    for name in group.config.criteria:
        if name in INFORMATIONAL_METRICS and name not in (group.config.custom_metrics or {}):
            yield source.error(
                "AE734",
                f"`{name}` is always reported and never gates: it takes no threshold",
                ("criteria", name),
                hint="remove it from `criteria`",
                fix=_without(source, ("criteria", name)),
            )


def _without(source: ConfigSource, path: tuple[str, ...]) -> tuple[Edit, ...]:
    """The edit that takes a key out of a JSON object, with its comma and its line."""
    span = None if is_yaml(source.file) else serde.json_span(source.text, path)
    if span is None:
        return ()
    start, end = span
    text = source.text
    while end < len(text) and text[end] in " \t\r\n":
        end += 1
    if text[end : end + 1] == ",":
        end += 1
        while end < len(text) and text[end] in " \t\r\n":
            end += 1
        return (Edit(start, end, ""),)
    before = text[:start].rstrip()
    if before.endswith(","):
        return (Edit(len(before) - 1, span[1], ""),)
    return (Edit(start, span[1], ""),)


def thresholds(group: Group, source: ConfigSource) -> Iterator[Finding]:
    """Thresholds that nothing reaches, or that everything does."""
    for metric in group.metrics:
        if metric.threshold is None:
            continue
        place: Steps = ("criteria", metric.name)
        if isinstance(group.config.criteria[metric.name], BaseCriterion):
            place = (*place, "threshold")
        lower, interval = metric.info.better is Better.LOWER, metric.interval
        if lower and metric.threshold < 0:
            yield source.error("AE735", f"no value of `{metric.name}` is below 0, so nothing can pass", place)
        if interval is None or lower:
            continue
        low, high = interval.min_value, interval.max_value
        if metric.threshold > high:
            hint = (
                f"{metric.threshold:g} % is {metric.threshold / 100:g}"
                if 1 < metric.threshold <= 100
                else None
            )
            yield source.error(
                "AE735",
                f"`{metric.name}` is at most {high:g}, so that nothing can reach {metric.threshold:g}",
                place,
                hint=hint if high == 1 else None,
            )
        elif metric.threshold <= low:
            yield source.warning(
                "AE736", f"`{metric.name}` is at least {low:g}, so that everything passes", place
            )
        elif metric.threshold < low + _LOW * (high - low):
            yield source.warning(
                "AE736",
                f"{metric.threshold:g} is a low threshold for `{metric.name}`, which goes from {low:g} to "
                f"{high:g}",
                place,
            )


def pass_rates(group: Group, source: ConfigSource) -> Iterator[Finding]:
    """Rules for repeated runs that say nothing."""
    multi = group.config.multi_run_config
    for name, scoring in multi.cross_run_scoring_by_metric.items():
        place: Steps = ("multi_run_config", "cross_run_scoring_by_metric", name)
        if name not in group.config.criteria:
            hint = did_you_mean(name, group.config.criteria) or "only a metric with a threshold has a rule"
            yield source.error("AE737", f"`{name}` is not among the criteria", place, hint=hint)
        if scoring.threshold == 0:
            yield source.warning("AE736", "a pass rate of 0 is reached by every case", (*place, "threshold"))
    if multi.cross_run_criteria == 0:
        joint = ("multi_run_config", "cross_run_criteria")
        yield source.warning("AE736", "a pass rate of 0 is reached by every case", joint)


def custom_metrics(group: Group, source: ConfigSource) -> Iterator[Finding]:
    """Metrics of the user's own that are not used, or whose code is not there."""
    for name, metric in (group.config.custom_metrics or {}).items():
        if name not in group.config.criteria:
            yield source.warning(
                "AE738",
                f"`{name}` is declared and not among the criteria, so that it is not computed",
                ("custom_metrics", name),
                hint=did_you_mean(name, group.unknown) or "give it a threshold in `criteria`",
            )
        reference = metric.code_config.name
        place = ("custom_metrics", name, "code_config", "name")
        if "." not in reference:
            yield source.error(
                "AE739", f"`{reference}` is no dotted path", place, hint="write `module.function`"
            )
        elif not _is_there(reference.partition(".")[0], group.code_folders):
            beside = [file.stem for folder in group.code_folders for file in folder.glob("*.py")]
            yield source.warning(
                "AE739",
                f"there is no module `{reference.partition('.')[0]}` beside the config or installed",
                place,
                hint=did_you_mean(reference.partition(".")[0], beside) or "it may be in the agent's folder",
            )


def _is_there(module: str, folders: Sequence[Path]) -> bool:
    """Whether a module or package is there; nothing is imported."""
    if not module.isidentifier():
        return False
    try:
        return (
            module == "agent"
            or any((folder / f"{module}.py").is_file() or (folder / module).is_dir() for folder in folders)
            or find_spec(module) is not None
        )
    except (ImportError, ValueError, OSError):  # of a name that no file can have, say
        return False


CHECKS = (
    no_criteria,
    unknown_metrics,
    bad_options,
    unknown_options,
    informational,
    thresholds,
    pass_rates,
    custom_metrics,
)
