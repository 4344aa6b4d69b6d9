"""From the name of a model to the model."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_eval.errors import InputError, Problem
from agent_eval.judge.base import Model

_PROVIDERS = (
    (
        "gemini",
        re.compile(r"gemini-.+|gemma-.+|model-optimizer-.+|models/.+|projects/.+/(endpoints|models)/.+"),
    ),
    ("openai", re.compile(r"openai/.+")),
    ("litellm", re.compile(r"litellm/.+")),
    ("python", re.compile(r"python/\w+(\.\w+)*:\w+(\.\w+)*")),
)

NAMES = "name a Gemini model (`gemini-...`), or `openai/<model>` or `litellm/<model>`"
"""What to do about a name that no provider is known for."""


def provider_of(model: str) -> str | None:
    """`gemini`, `openai`, `litellm` or `python`; None for a name that belongs to no known provider."""
    return next((provider for provider, names in _PROVIDERS if names.fullmatch(model)), None)


def open_model(name: str, code_folders: tuple[Path, ...] = ()) -> Model:
    """The model of a name. Nothing is sent yet, and no SDK imported.

    Args:
        name: of a Gemini model, `openai/<model>`, `litellm/<model>`, or `python/<module>:<attribute>`.
        code_folders: where the code of a Python model is looked for, besides installed packages.

    Raises:
        InputError: no provider is known, its extra is not installed, or there is no such code.
    """
    match provider_of(name):
        case "gemini":
            from agent_eval.judge.gemini import GeminiModel

            return GeminiModel(name)
        case "openai":
            from agent_eval.judge.openai import OpenAIModel

            _check_installed("openai", name)
            return OpenAIModel(name)
        case "litellm":
            from agent_eval.judge.litellm import LiteLLMModel

            _check_installed("litellm", name)
            return LiteLLMModel(name)
        case "python":
            from agent_eval.judge.python import open_python_model

            return open_python_model(name, code_folders)
    raise InputError(Problem(f"no provider is known for the model `{name}`", hint=NAMES))


def _check_installed(extra: str, name: str) -> None:
    if importlib.util.find_spec(extra) is None:
        hint = f"install `adk-agent-eval[{extra}]`"
        raise InputError(Problem(f"`{name}` needs the package `{extra}`, which is not installed", hint=hint))


def check_settings(name: str, config: Mapping[str, Any]) -> None:
    """Refuses settings that the model's provider has nothing for; what only tunes Gemini is passed over.

    Raises:
        InputError: there are some.
    """
    if provider_of(name) not in ("openai", "litellm"):
        return
    from agent_eval.judge.chat import unknown_settings

    if unknown := unknown_settings(config):
        told = ", ".join(f"`{key}`" for key in unknown)
        hint = "remove it; what the endpoint itself understands goes into `http_options.extra_body`"
        raise InputError(Problem(f"`{name}` cannot follow {told}", hint=hint))
