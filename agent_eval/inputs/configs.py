"""Eval config files -> `EvalConfig`."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from agent_eval.inputs import documents
from agent_eval.schema import config as schema
from agent_eval.schema.config import DEFAULT_CONFIG, EvalConfig

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
    schema.LiveModelConfig,
    schema.MultiRunConfig,
    schema.CrossRunScoring,
    schema.ToolMocks,
    schema.ToolMock,
)


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A config and the file it came from; no path stands for the default config."""

    config: EvalConfig
    path: Path | None
    sha256: str


def load_config(path: Path) -> LoadedConfig:
    """Reads an eval config file, JSON or YAML by its name.

    Raises:
        InputError: the file cannot be read or is no eval config; everything wrong with it at once.
    """
    data = documents.read_bytes(path)
    return LoadedConfig(parse_config(data, str(path)), path, hashlib.sha256(data).hexdigest())


def default_config() -> LoadedConfig:
    """The config that is used where none is found."""
    digest = hashlib.sha256(DEFAULT_CONFIG.model_dump_json().encode()).hexdigest()
    return LoadedConfig(DEFAULT_CONFIG, None, digest)


def parse_config(data: bytes, file: str) -> EvalConfig:
    """The eval config in a file's bytes.

    Raises:
        InputError: no eval config; everything wrong with it at once.
    """
    text = documents.decode(data, file)
    document = documents.parse(text, file)
    try:
        if documents.is_yaml(file):
            return EvalConfig.model_validate(document)
        return EvalConfig.model_validate_json(text)
    except ValidationError as error:
        raise documents.invalid(error, _MODELS, text, document, file) from None
