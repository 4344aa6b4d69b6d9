"""`python -m tests.fuzz`: what came of many bad inputs, a line a reader."""

from __future__ import annotations

import argparse
import sys

from tests.fuzz.readers import shares
from tests.fuzz.runner import fuzz


def main() -> int:
    """Prints the table; 1 if a reader did anything but accept or refuse."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=200_000, help="in all")
    parser.add_argument("--seed", default="0", help="the same seed gives the same inputs")
    parser.add_argument("--reader", help="only those whose name has this in it")
    given = parser.parse_args()
    titles = (
        f"{'inputs':>9}{'accepted':>10}{'refused':>9}{'seconds':>9}{'slowest':>10}{'grown':>9}{'bugs':>6}"
    )
    print(f"{'reader':<22}{titles}")
    whole = [0, 0, 0, 0]
    for reader, inputs in shares(given.inputs):
        if given.reader and given.reader not in reader.name:
            continue
        tally = fuzz(reader, inputs, given.seed)
        print(
            f"{reader.name:<22}{tally.inputs:>9}{tally.accepted:>10}{tally.refused:>9}{tally.seconds:>9.1f}"
            f"{tally.slowest * 1000:>7.0f} ms{tally.megabytes:>6.0f} MB{len(tally.bugs):>6}",
            flush=True,
        )
        for told, data in tally.bugs.items():
            print(f"  {told}: {data[:300]!r}")
        counts = (tally.inputs, tally.accepted, tally.refused, len(tally.bugs))
        whole = [before + more for before, more in zip(whole, counts, strict=True)]
    print(f"{'all':<22}{whole[0]:>9}{whole[1]:>10}{whole[2]:>9}{'':>28}{whole[3]:>6}")
    return 1 if whole[3] else 0


if __name__ == "__main__":
    sys.exit(main())
