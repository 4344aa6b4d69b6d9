"""Two raters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_eval.aggregate.agreement import Agreement, agreement

KNOWN = {
    "as in Cohen's paper and every textbook": (Agreement(20, 15, 5, 10), 0.4),
    "same agreement, more by chance": (Agreement(45, 15, 25, 15), 0.1304347826),
    "same agreement, less by chance": (Agreement(25, 35, 5, 35), 0.2592592592),
    "perfect": (Agreement(3, 4, 0, 0), 1.0),
    "reversed": (Agreement(0, 0, 5, 5), -1.0),
}


@pytest.mark.parametrize(("raters", "kappa"), KNOWN.values(), ids=KNOWN.keys())
def test_kappa_of_known_tables(raters: Agreement, kappa: float) -> None:
    assert raters.kappa == pytest.approx(kappa)


@pytest.mark.parametrize("raters", [Agreement(0, 0, 0, 0), Agreement(7, 0, 0, 0), Agreement(0, 2, 0, 0)])
def test_no_kappa_where_chance_explains_everything(raters: Agreement) -> None:
    assert raters.kappa is None


@given(st.lists(st.tuples(st.booleans(), st.booleans())))
def test_counts_add_up_and_kappa_is_symmetric(ratings: list[tuple[bool, bool]]) -> None:
    found = agreement(ratings)
    swapped = agreement((judge, people) for people, judge in ratings)

    assert found.total == len(ratings)
    assert found.agreed == sum(people == judge for people, judge in ratings)
    assert found.kappa == swapped.kappa
    assert found.kappa is None or -1 <= found.kappa <= 1
