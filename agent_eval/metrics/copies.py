"""Copies for code of the user's: what it changes in them, nobody else sees."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict


def own_copy(value: Any) -> Any:
    """A deep copy in which values that are frozen elsewhere may be changed, as ADK's may."""
    if isinstance(value, BaseModel):
        made = value.model_copy()
        for name, item in vars(value).items():
            vars(made)[name] = own_copy(item)
        for name, item in (value.model_extra or {}).items():
            (made.__pydantic_extra__ or {})[name] = own_copy(item)
        if value.model_config.get("frozen"):
            made.__class__ = _changeable(type(value))
        return made
    if isinstance(value, dict):
        return {key: own_copy(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(own_copy, value)) if type(value) in (list, tuple) else copy.deepcopy(value)
    return value if isinstance(value, str | int | float | bytes | None) else copy.deepcopy(value)


class _EqualToItsBase:
    """Compares as the frozen class does, with that class too."""

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, BaseModel) and _frozen(type(self)) is _frozen(type(other))
        return same and vars(self) == vars(other) and _extra(self) == _extra(other)

    def __hash__(self) -> int:
        return hash(_frozen(type(self)))  # what may change must not decide


@cache
def _changeable(frozen: type[BaseModel]) -> type[BaseModel]:
    """The class of changeable copies of a frozen one; they pass for it everywhere."""
    names = {
        "model_config": ConfigDict(frozen=False),
        "__module__": frozen.__module__,
        "__qualname__": frozen.__qualname__,
        "__doc__": frozen.__doc__,
    }
    return type(frozen.__name__, (_EqualToItsBase, frozen), names)


def _frozen(cls: type[Any]) -> type[Any]:
    return cls.__mro__[2] if _EqualToItsBase in cls.__bases__ else cls


def _extra(value: object) -> object:
    return getattr(value, "model_extra", None) or {}
