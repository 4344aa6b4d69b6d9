"""Failures with the cause that a person names first, written down without a look at the rules.

Each is played by a scripted agent, so that the records are real ones. What a judge says is given.
"""

from __future__ import annotations

from tests.diagnose.failure import Failure
from tests.diagnose.labelled import across, answers, calls, checks, crashes, judged, mixed, unscored

FAILURES: tuple[Failure, ...] = tuple(
    failure
    for module in (calls, checks, answers, judged, crashes, unscored, across, mixed)
    for failure in module.FAILURES
)
