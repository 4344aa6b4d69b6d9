"""The code that configs name, for who wants none of it imported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_eval import serde
from agent_eval.errors import InputError, Problem
from agent_eval.inputs.configs import LoadedConfig
from agent_eval.judge.models import provider_of
from agent_eval.schema.config import EvalConfig

HINT = "remove it; or, if you trust this file, leave out --no_custom_code"


def refuse_code(config: LoadedConfig) -> None:
    """Refuses a config that names code to import, before anything is.

    Raises:
        InputError: it does; every place at once.
    """
    file = str(config.path) if config.path else None
    problems = [
        Problem(f"names code to import, `{reference}`", file, path, hint=HINT)
        for path, reference in named_code(config.config)
    ]
    if problems:
        raise InputError(*problems)


def named_code(config: EvalConfig) -> Iterator[tuple[str, str]]:
    """The place and the name of each metric of the user's own, and of each model in this process."""
    for name, metric in (config.custom_metrics or {}).items():
        yield f"custom_metrics.{name}.code_config.name", metric.code_config.name
    for path, text in _texts(config.model_dump(), ()):
        if provider_of(text) == "python":
            yield serde.path_text(path), text


def _texts(node: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every text, as models may be named wherever a metric looks for one."""
    if isinstance(node, str):
        yield path, node
    elif isinstance(node, dict | list | tuple):
        pairs = node.items() if isinstance(node, dict) else enumerate(node)
        for step, item in pairs:
            yield from _texts(item, (*path, step if isinstance(step, int) else str(step)))
