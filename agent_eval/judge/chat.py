"""The form of OpenAI's chat completions: requests into it, responses out of it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent_eval.judge.base import Failure, ModelError, Reply, Request, Usage
from agent_eval.judge.dialect import Dialect, Form
from agent_eval.judge.endpoints import brief
from agent_eval.judge.media import mime_type
from agent_eval.schema.trace import Part

_SETTINGS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
    "stop_sequences": "stop",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}
"""Settings and what chat completions call them."""

_GEMINI_ONLY = frozenset(
    {
        "automatic_function_calling",
        "labels",
        "response_json_schema",
        "response_mime_type",
        "response_schema",
        "safety_settings",
        "system_instruction",
        "thinking_config",
    }
)
"""Settings that have no meaning here, or that the question itself decides."""

_HTTP_OPTIONS = frozenset({"timeout", "retry_options", "headers", "extra_body"})


def unknown_settings(config: Mapping[str, Any]) -> list[str]:
    """The settings that cannot be followed here, and must not be passed over."""
    known = {*_SETTINGS, *_GEMINI_ONLY, "max_output_tokens", "http_options"}
    options = config.get("http_options") or {}
    return [
        *(key for key in config if key not in known and config[key] is not None),
        *(f"http_options.{key}" for key in options if key not in _HTTP_OPTIONS),
    ]


def parameters(request: Request, dialect: Dialect) -> dict[str, Any]:
    """The arguments of a chat completion, without the model's name."""
    config = request.config
    given = {name: config[key] for key, name in _SETTINGS.items() if config.get(key) is not None}
    if config.get("max_output_tokens") is not None:
        given["max_completion_tokens" if dialect.newer_limit else "max_tokens"] = config["max_output_tokens"]
    if request.schema:
        given["response_format"] = _response_format(request.schema, dialect.form)
    return given | {"messages": list(_messages(request))}


def _response_format(schema: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """A JSON Schema in OpenAI's form, or in that of servers like llama-cpp-python.

    `strict` is set where the schema fulfils what OpenAI asks of strict ones; others ignore the flag.
    """
    if form is Form.JSON:
        return {"type": "json_object", "schema": dict(schema)}
    named = {"name": "answer", "schema": dict(schema), "strict": _is_strict(schema)}
    return {"type": "json_schema", "json_schema": named}


def _is_strict(schema: Any) -> bool:
    """Whether every object in it requires all its properties and allows no others."""
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        if isinstance(properties, Mapping) and (
            schema.get("additionalProperties") is not False
            or set(schema.get("required") or ()) != set(properties)
        ):
            return False
        return all(_is_strict(inner) for inner in schema.values())
    return not isinstance(schema, list) or all(_is_strict(inner) for inner in schema)


def _messages(request: Request) -> Iterator[dict[str, Any]]:
    if request.system:
        yield {"role": "system", "content": request.system}
    for content in request.contents:
        role = "assistant" if content.role == "model" else "user"
        yield {"role": role, "content": _content(content.parts or ())}


def _content(parts: Sequence[Part]) -> str | list[dict[str, Any]]:
    """One text where there is nothing else: not every endpoint takes a list."""
    pieces = [piece for part in parts if (piece := _piece(part))]
    if all(piece["type"] == "text" for piece in pieces):
        return "\n\n".join(piece["text"] for piece in pieces)
    return pieces


def _piece(part: Part) -> dict[str, Any] | None:
    if mime_type(part):
        return medium(part)
    return {"type": "text", "text": part.text} if part.text and not part.thought else None


def medium(part: Part) -> dict[str, Any] | None:
    """An image, audio or file in the form of a chat message; None if there is none for it."""
    kind = mime_type(part) or ""
    if part.inline_data is None or part.inline_data.data is None:
        address = (part.file_data.file_uri or "") if part.file_data else ""
        is_image_address = kind.startswith("image/") and address.startswith(("https://", "http://", "data:"))
        return {"type": "image_url", "image_url": {"url": address}} if is_image_address else None
    data = base64.b64encode(part.inline_data.data).decode()
    major, _, minor = kind.partition("/")
    if major == "image":
        return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
    if major == "audio":
        return {"type": "input_audio", "input_audio": {"data": data, "format": _audio_format(minor)}}
    if major == "video":
        return None
    name = part.inline_data.display_name or "file"
    return {"type": "file", "file": {"filename": name, "file_data": f"data:{kind};base64,{data}"}}


def _audio_format(minor: str) -> str:
    minor = minor.partition(";")[0].removeprefix("x-")
    return {"mpeg": "mp3", "wave": "wav", "vnd.wave": "wav"}.get(minor, minor)


def reply(name: str, completion: Any) -> Reply:
    """What a chat completion says.

    Raises:
        ModelError: it was blocked, or there is no text in it.
    """
    choices = getattr(completion, "choices", None)
    if choices is None:  # a page of a proxy, or an error with status 200
        told = brief(getattr(completion, "error", None) or completion)
        raise ModelError(Failure.SERVER, f"{name}: the response is no chat completion: {told}")
    usage = _usage(getattr(completion, "usage", None))
    if not choices:
        raise ModelError(Failure.EMPTY, f"{name}: a response without choices", usage)
    message, finish = choices[0].message, choices[0].finish_reason
    refusal = getattr(message, "refusal", None)
    if finish == "content_filter" or refusal:
        raise ModelError(Failure.BLOCKED, f"{name}: the answer was blocked: {refusal or finish}", usage)
    text = _text(message.content)
    is_cut_off = finish == "length"
    if not text.strip() and not is_cut_off:
        raise ModelError(Failure.EMPTY, f"{name}: a response without text, finish reason {finish}", usage)
    return Reply(text, usage, is_cut_off)


def _text(content: Any) -> str:
    """A message's text; some endpoints give a list, with thoughts among it."""
    if isinstance(content, list):
        return "".join(str(piece["text"]) for piece in content if isinstance(piece, dict) and "text" in piece)
    return content or ""


def _usage(given: Any) -> Usage:
    if given is None:
        return Usage()
    return Usage(getattr(given, "prompt_tokens", None) or 0, getattr(given, "completion_tokens", None) or 0)
