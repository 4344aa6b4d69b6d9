"""Tools that must not really run, or that ask whether they may."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import AfterValidator, model_validator
from pydantic_core import PydanticCustomError

from agent_eval.schema.base import Value
from agent_eval.schema.patterns import checked_pattern, matches


class UnmatchedCall(StrEnum):
    """What becomes of a call to a mocked tool that no mock matches."""

    ERROR = "error"
    PASS_THROUGH = "pass_through"


class ToolMock(Value):
    """What a tool answers instead of running: a response, a sequence of them, or an error."""

    tool: str
    args: Annotated[dict[str, Any], AfterValidator(checked_pattern)] | None = None
    """Arguments the call must have, values or patterns; others may be there. None matches every call."""
    response: Any = None
    responses: list[Any] | None = None
    """One after the other; the last one is repeated."""
    error: str | None = None
    """The tool raises, with this text."""

    @model_validator(mode="after")
    def _one_answer(self) -> Self:
        given = {"response", "responses", "error"} & self.model_fields_set
        if len(given) != 1 or self.responses == []:
            raise PydanticCustomError("one_answer", "expected one of `response`, `responses` and `error`")
        return self

    def matches(self, tool: str, args: dict[str, Any]) -> bool:
        """Whether the mock answers this call."""
        return tool == self.tool and all(
            key in args and matches(wanted, args[key]) for key, wanted in (self.args or {}).items()
        )


class ToolMocks(Value):
    """Tools that must not really run. The first mock that matches a call answers it."""

    mocks: list[ToolMock]
    default: UnmatchedCall = UnmatchedCall.ERROR

    def names(self) -> set[str]:
        """The tools that have a mock."""
        return {mock.tool for mock in self.mocks}


class ToolConfirmation(StrEnum):
    """How a tool is answered that asks whether it may run."""

    APPROVE = "approve"
    DENY = "deny"
    FAIL = "fail"
    """The run crashes with a message that names the tool."""
