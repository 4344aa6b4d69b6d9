"""Every rule about a single run."""

from __future__ import annotations

from functools import cache

from agent_eval.diagnose import answers, calls, checks, crashes, judged, unscored
from agent_eval.diagnose.base import Kind, Rule

RULES: tuple[Rule, ...] = tuple(
    rule for module in (calls, checks, answers, judged, crashes, unscored) for rule in module.RULES
)


@cache
def rules_for(kind: Kind) -> tuple[Rule, ...]:
    """The rules that may explain a kind of failure."""
    return tuple(rule for rule in RULES if kind in rule.kinds)
