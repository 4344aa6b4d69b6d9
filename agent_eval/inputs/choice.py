"""Which cases run: those named, those that an expression fits, those that failed last time."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agent_eval.errors import InputError, Problem
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.trace import EvalStatus

Fits = Callable[[str], bool]
"""Whether a case with such names is meant."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is asked of cases before they run."""

    case_ids: tuple[str, ...] = ()
    """These alone."""
    expression: str | None = None
    """Words that have to be in their names, joined by `and`, `or`, `not` and parentheses."""
    last_failed: bool = False
    """Those that did not pass when they last ran."""
    failed_first: bool = False
    """Those that did not pass when they last ran come first."""

    @property
    def needs_history(self) -> bool:
        """Whether it depends on what came out before."""
        return self.last_failed or self.failed_first


def fitting(cases: Sequence[EvalCase], names: str, choice: Choice) -> list[EvalCase]:
    """The cases that are named and fit the expression, in their order.

    Args:
        cases: of one eval set.
        names: of the eval set, which the expression may mean as well.
        choice: what is asked.

    Raises:
        InputError: the expression is none.
    """
    fits = parse_expression(choice.expression) if choice.expression is not None else None
    return [
        case
        for case in cases
        if (not choice.case_ids or case.eval_id in choice.case_ids)
        and (fits is None or fits(f"{names} {case.eval_id}"))
    ]


def has_failed(case: EvalCase, verdicts: Mapping[str, EvalStatus]) -> bool:
    """Whether a case is known not to have passed."""
    return verdicts.get(case.eval_id, EvalStatus.PASSED) is not EvalStatus.PASSED


_TOKEN = re.compile(r"\s*([()]|[^\s()]+)")


def parse_expression(text: str) -> Fits:
    """What an expression says of names: `refund and not (slow or draft)`. Case does not matter.

    Raises:
        InputError: it is no expression.
    """
    parser = _Parser(_TOKEN.findall(text), text)
    fits = parser.either()
    if parser.next is not None:
        raise parser.problem(f"`{parser.next}` is one too many")
    return lambda names: fits(names.casefold())


class _Parser:
    """Recursive descent: `or` binds less than `and`, `and` less than `not`."""

    def __init__(self, tokens: Sequence[str], text: str) -> None:
        self._tokens = list(reversed(tokens))
        self._text = text

    @property
    def next(self) -> str | None:
        return self._tokens[-1] if self._tokens else None

    def problem(self, told: str) -> InputError:
        return InputError(
            Problem(f"-k {self._text!r}: {told}", hint="write words with `and`, `or`, `not` and parentheses")
        )

    def _take(self, token: str) -> bool:
        if self.next == token:
            self._tokens.pop()
            return True
        return False

    def either(self) -> Fits:
        options = [self._all()]
        while self._take("or"):
            options.append(self._all())
        return lambda names: any(fits(names) for fits in options)

    def _all(self) -> Fits:
        parts = [self._not()]
        while self._take("and"):
            parts.append(self._not())
        return lambda names: all(fits(names) for fits in parts)

    def _not(self) -> Fits:
        if self._take("not"):
            fits = self._not()
            return lambda names: not fits(names)
        if self._take("("):
            inner = self.either()
            if not self._take(")"):
                raise self.problem("a parenthesis is not closed")
            return inner
        word = self.next
        if word is None or word in ("and", "or", ")"):
            raise self.problem(f"a word is missing before `{word}`" if word else "a word is missing")
        self._tokens.pop()
        return lambda names: word.casefold() in names
