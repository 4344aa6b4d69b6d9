"""A page put together: its template, style and scripts, and the data they show, in one document.

Nothing of the data is ever markup. It is embedded as JSON in which no `<` is left, and the scripts
put texts into the page as text only. The page's security policy lets these scripts run and no other,
and lets nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from typing import Any

from agent_eval import serde
from agent_eval.printable import printable

_ESCAPES = {
    ord("<"): "\\u003c",
    ord(">"): "\\u003e",
    ord("&"): "\\u0026",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}


def embedded(value: Any) -> str:
    """A value as JSON that can stand in a script element: nothing in it can close that."""
    return serde.to_json(value).decode().translate(_ESCAPES)


def block(name: str, json: str) -> str:
    """JSON of the page, read when it is needed."""
    return f'<script type="application/json" id="{name}">{json}</script>\n'


def page(title: str, blocks: Iterable[str], script: str) -> bytes:
    """The document.

    Args:
        title: of the page; may hold anything.
        blocks: what `block` made.
        script: the file beside this one that shows the data.
    """
    style, code = _part("page.css"), _part("common.js") + _part(script)
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(code)}'"
    parts = {
        "policy": policy,
        "title": escape(printable(title)),
        "style": style,
        "data": "".join(blocks),
        "script": code,
    }
    template = _part("page.html").split("%%")  # texts at even places, names of parts at odd ones
    filled = [parts[piece] if index % 2 else piece for index, piece in enumerate(template)]
    return "".join(filled).encode()


def _part(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
