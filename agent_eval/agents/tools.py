"""Tools that do not really run: mocks of one run, in the order of its calls."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass
from typing import Any

from agent_eval.schema.tools import ToolConfirmation, ToolMocks, UnmatchedCall


class MockedToolError(Exception):
    """What a mocked tool raises, or a call that no mock matches."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A mock's answer."""

    response: Any


class MockedTools:
    """The mocks of one run; it counts calls, as sequences of responses need."""

    def __init__(self, mocks: ToolMocks | None) -> None:
        self._mocks = mocks
        self._calls: Counter[int] = Counter()

    def answer(self, tool: str, args: dict[str, Any]) -> Answer | None:
        """The answer to a call; None if the tool is to run.

        Raises:
            MockedToolError: the mock says so, or none matches and unmatched calls are errors.
        """
        if self._mocks is None or tool not in self._mocks.names():
            return None
        for index, mock in enumerate(self._mocks.mocks):
            if not mock.matches(tool, args):
                continue
            if mock.error is not None:
                raise MockedToolError(mock.error)
            if mock.responses is None:
                return Answer(copy.deepcopy(mock.response))
            number = min(self._calls[index], len(mock.responses) - 1)
            self._calls[index] += 1
            return Answer(copy.deepcopy(mock.responses[number]))
        if self._mocks.default is UnmatchedCall.PASS_THROUGH:
            return None
        raise MockedToolError(f"no mock of `{tool}` matches the arguments {args}")


@dataclass(frozen=True, slots=True)
class ToolRules:
    """How tools behave in an evaluation."""

    mocks: ToolMocks | None = None
    confirmation: ToolConfirmation = ToolConfirmation.FAIL
