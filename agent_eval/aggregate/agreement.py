"""How far a judge agrees with people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two raters, people and a judge, on the same items: pass or fail."""

    both_pass: int
    both_fail: int
    false_pass: int
    """The judge passes what people fail."""
    false_fail: int
    """The judge fails what people pass."""

    @property
    def total(self) -> int:
        """Items that both rated."""
        return self.both_pass + self.both_fail + self.false_pass + self.false_fail

    @property
    def agreed(self) -> int:
        """Items on which both say the same."""
        return self.both_pass + self.both_fail

    @property
    def failed_by_people(self) -> int:
        """Items that people fail."""
        return self.both_fail + self.false_pass

    @property
    def passed_by_people(self) -> int:
        """Items that people pass."""
        return self.both_pass + self.false_fail

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa (Cohen 1960): agreement beyond chance, from -1 to 1.

        None where chance alone would agree always, as when both pass everything.
        """
        if self.total == 0:
            return None
        passed_by_judge = self.both_pass + self.false_pass
        failed_by_judge = self.total - passed_by_judge
        by_chance = self.passed_by_people * passed_by_judge + self.failed_by_people * failed_by_judge
        most = self.total * self.total
        return None if by_chance == most else (self.agreed * self.total - by_chance) / (most - by_chance)


def agreement(ratings: Iterable[tuple[bool, bool]]) -> Agreement:
    """The agreement on items rated as (passed by people, passed by the judge)."""
    counts = Counter(ratings)
    return Agreement(
        both_pass=counts[True, True],
        both_fail=counts[False, False],
        false_pass=counts[False, True],
        false_fail=counts[True, False],
    )
