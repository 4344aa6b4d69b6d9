"""Eval config files -> `EvalConfig`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from agent_eval.errors import InputError, Problem, did_you_mean
from agent_eval.inputs import documents
from agent_eval.schema import config as schema
from agent_eval.schema.config import DEFAULT_CONFIG, EvalConfig
from agent_eval.schema.multi_run import CrossRunScoring, MultiRunConfig
from agent_eval.schema.tools import ToolMock, ToolMocks

_MODELS = (
    EvalConfig,
    schema.BaseCriterion,
    schema.JudgeModelOptions,
    schema.CustomMetricConfig,
    schema.MetricInfo,
    schema.MetricValueInfo,
    schema.Interval,
    schema.CodeConfig,
    schema.LlmBackedSimulatorConfig,
    schema.ScriptedSimulatorConfig,
    schema.ScriptedTurn,
    schema.LiveModelConfig,
    MultiRunConfig,
    CrossRunScoring,
    ToolMocks,
    ToolMock,
)


MAX_BYTES = 1_000_000
"""No config is larger."""


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A config and the file it came from; no path stands for the default config."""

    config: EvalConfig
    path: Path | None
    sha256: str
    warnings: tuple[str, ...] = ()


def load_config(path: Path) -> LoadedConfig:
    """Reads an eval config file, JSON or YAML by its name.

    Raises:
        InputError: the file cannot be read or is no eval config; everything wrong with it at once.
    """
    data = documents.read_bytes(path)
    config = parse_config(data, str(path))
    warnings = tuple(_unknown_keys(data, str(path)))
    return LoadedConfig(config, path, hashlib.sha256(data).hexdigest(), warnings)


def with_num_runs(config: LoadedConfig, num_runs: int) -> LoadedConfig:
    """A config whose cases run so often."""
    multi = config.config.multi_run_config.model_copy(update={"num_runs": num_runs})
    changed = config.config.model_copy(update={"multi_run_config": multi})
    return replace(config, config=changed)


def _unknown_keys(data: bytes, file: str) -> Iterator[str]:
    """Keys at the top of a config that mean nothing: ADK ignores them, and so they are, but not silently."""
    document = documents.parse(documents.decode(data, file), file)
    known = list(EvalConfig.model_fields)
    for key in document:
        if documents.snake_case(str(key)) not in known and not str(key).startswith("$"):
            hint = did_you_mean(documents.snake_case(str(key)), known)
            yield f"{file}: unknown key `{key}` is ignored" + (f" ({hint})" if hint else "")


def default_config() -> LoadedConfig:
    """The config that is used where none is found."""
    digest = hashlib.sha256(DEFAULT_CONFIG.model_dump_json().encode()).hexdigest()
    return LoadedConfig(DEFAULT_CONFIG, None, digest)


def parse_config(data: bytes, file: str) -> EvalConfig:
    """The eval config in a file's bytes.

    Raises:
        InputError: no eval config; everything wrong with it at once.
    """
    if len(data) > MAX_BYTES:
        raise InputError(Problem("is no eval config: it has more than a megabyte", file))
    text = documents.decode(data, file)
    document = documents.parse(text, file)
    try:
        if documents.is_yaml(file):
            return EvalConfig.model_validate(document)
        return EvalConfig.model_validate_json(text)
    except ValidationError as error:
        raise documents.invalid(error, _MODELS, text, document, file) from None
