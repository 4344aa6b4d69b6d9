"""`--shard i/n`: which cases of an evaluation are this machine's, where several share them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_eval.errors import InputError, Problem

_SHARD = re.compile(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` parts, the `index`th from 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def has(self, position: int) -> bool:
        """Whether the case at this position of the evaluation, from 0, is in it.

        They are dealt out like cards: so every case is in one shard, no shard has two more than
        another, and neighbours, which often take equally long, are apart.
        """
        return position % self.count == self.index - 1


def parse_shard(text: str) -> Shard:
    """What `--shard` was given.

    Raises:
        InputError: it is not `i/n` with 1 <= i <= n.
    """
    found = _SHARD.fullmatch(text)
    shard = Shard(int(found[1]), int(found[2])) if found else Shard(0, 0)
    if not 1 <= shard.index <= shard.count:
        raise InputError(Problem(f"--shard takes i/n, from 1/n to n/n; not {text!r}"))
    return shard
