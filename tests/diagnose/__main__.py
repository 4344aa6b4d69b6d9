"""Explains every failure that was written down, and tells how often the right cause comes first.

python -m tests.diagnose
"""

from __future__ import annotations

import sys
from collections import Counter

from tests.diagnose.facts import contradictions
from tests.diagnose.labelled import FAILURES
from tests.diagnose.player import played

if __name__ == "__main__":
    every = [played(failure) for failure in FAILURES]
    wrong = [one for one in every if one.first != one.failure.cause]
    for one in wrong:
        print(f"{one.failure.cause} {one.failure.name}: {one.first}")
        for cause in one.causes:
            print(f"    {cause.code} {cause.seen}")
    against = [(one.failure.name, told) for one in every for told in contradictions(one)]
    for name, told in against:
        print(f"against the facts: {name}: {told}")
    kinds = Counter(failure.cause for failure in FAILURES)
    print(
        f"{len(every) - len(wrong)} of {len(every)} right first ({1 - len(wrong) / len(every):.1%}), "
        f"{len(kinds)} causes, each at least {min(kinds.values())} times; "
        f"{len(against)} causes against the facts"
    )
    sys.exit(bool(against) or len(wrong) > len(every) / 10)
