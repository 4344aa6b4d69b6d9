"""The base of every value, and the check of unknown content keys against the installed SDK."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Self, TypeVar, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

T = TypeVar("T")

Many = Annotated[list[T], Field(fail_fast=True)]
"""A list that is refused at its first bad item: a file may have millions of them."""


class Value(BaseModel):
    """A frozen value, read in snake_case or camelCase, that refuses keys it does not know.

    Its numbers are finite.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        protected_namespaces=(),
        defer_build=True,
        ser_json_bytes="base64",
        val_json_bytes="base64",
        allow_inf_nan=False,
    )


@cache
def _spellings(model: type[BaseModel]) -> tuple[tuple[str, str], ...]:
    """The keys of a model that have two spellings."""
    return tuple((name, camel) for name in model.model_fields if (camel := to_camel(name)) != name)


def one_spelling(model: type[BaseModel], data: object) -> object:
    """Refuses a key given in snake_case and camelCase with different values."""
    if isinstance(data, Mapping):
        for name, camel in _spellings(model):
            if camel in data and name in data and data[camel] != data[name]:
                raise PydanticCustomError(
                    "two_spellings",
                    "`{snake}` and `{camel}` are the same key, given twice with different values",
                    {"snake": name, "camel": camel},
                )
    return data


def _sdk_class(name: str) -> type[BaseModel]:
    from google.genai import types  # imported only for keys that this schema does not know

    cls = getattr(types, name)
    return cast(type[BaseModel], cls)


def known_to_sdk(name: str, key: str, model: type[BaseModel] | None = None) -> str:
    """Passes `key` if the installed google-genai has it on `types.<name>`, else refuses it."""
    fields = _sdk_class(name).model_fields
    if key not in fields and key not in {to_camel(field) for field in fields}:
        raise PydanticCustomError(
            "unknown_key",
            "unknown key `{key}`; {owner} has {known}",
            {"key": key, "owner": name, "known": ", ".join(sorted(fields)), "names": sorted(fields)},
        )
    return key


def checked_by_sdk(name: str, values: dict[str, Any]) -> dict[str, Any]:
    """Values validated by `google.genai.types.<name>`, under their snake_case names.

    Raises:
        PydanticCustomError: the SDK refuses a value.
    """
    try:
        model = _sdk_class(name).model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise PydanticCustomError(
            "sdk_value", "{place}: {reason}", {"place": place, "reason": first["msg"]}
        ) from None
    return model.model_dump(mode="json", exclude_unset=True)


class SdkValue(Value):
    """A mirror of one google.genai.types class: same name, same field names.

    Keys that the mirror lacks are accepted and kept when the installed SDK knows them.
    """

    model_config = ConfigDict(extra="allow")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        def check(key: str) -> str:
            return known_to_sdk(cls.__name__, key)

        cls.__annotations__["__pydantic_extra__"] = dict[Annotated[str, AfterValidator(check)], Any]
        super().__init_subclass__(**kwargs)

    @model_validator(mode="after")
    def _extras_pass_the_sdk(self) -> Self:
        if self.__pydantic_extra__:
            checked = checked_by_sdk(type(self).__name__, self.__pydantic_extra__)
            self.__pydantic_extra__.clear()
            self.__pydantic_extra__.update(checked)
        return self
