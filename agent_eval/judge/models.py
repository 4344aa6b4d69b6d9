"""Which provider a judge model's name belongs to."""

from __future__ import annotations

import re

_PROVIDERS = (
    (
        "gemini",
        re.compile(r"gemini-.+|gemma-.+|model-optimizer-.+|models/.+|projects/.+/(endpoints|models)/.+"),
    ),
    ("openai", re.compile(r"openai/.+")),
    ("litellm", re.compile(r"litellm/.+")),
)


def provider_of(model: str) -> str | None:
    """`gemini`, `openai` or `litellm`; None for a name that belongs to no known provider."""
    return next((provider for provider, names in _PROVIDERS if names.fullmatch(model)), None)
