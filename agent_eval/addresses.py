"""Addresses without what may be secret in them."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


def public_address(url: str) -> str:
    """A URL without user, password and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))


def without_credentials(text: str) -> str:
    """A text with `***` for user and password in each URL."""
    return _CREDENTIALS.sub("***@", text)
