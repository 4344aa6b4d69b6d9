"""Keeps secrets out of what is told."""

from __future__ import annotations

import os
import re

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_MIN_LENGTH = 8
"""Shorter values are words like `none` and `ollama` that endpoints without keys are given."""

_SECRET_FORMS = (
    (
        re.compile(r"(?<=[?&])((?:api_?|access_?)?(?:key|token)|sig|signature)=[^&\s\"']+", re.IGNORECASE),
        r"\1=***",
    ),
    (re.compile(r"(?<=://)[^/@\s]+@"), "***@"),
    (re.compile(r"\bBearer\s+[\w.~+/=-]{16,}"), "Bearer ***"),
    (re.compile(r"\b(?:sk-|AIza)[\w*-]{6,}"), "***"),
)


def redacted(text: str) -> str:
    """The text without values of secret environment variables, keys in URLs, and what looks like a key."""
    values = {
        value.strip()
        for name, value in os.environ.items()
        if _SECRET_NAME.search(name) and len(value.strip()) >= _MIN_LENGTH
    }
    for value in sorted(values, key=len, reverse=True):  # a key may begin like a shorter one
        text = text.replace(value, "***")
    for form, told in _SECRET_FORMS:
        text = form.sub(told, text)
    return text
