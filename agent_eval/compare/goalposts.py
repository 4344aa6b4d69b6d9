"""What differs between two results besides what the agent did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_eval.schema.base import Value
from agent_eval.schema.result import CaseResult, EvalResult


class GoalpostChange(Value):
    """Something besides the agent that differs, and may account for a difference in scores."""

    what: str
    before: str
    after: str


def goalposts(baseline: EvalResult, candidate: EvalResult) -> Iterator[GoalpostChange]:
    """Everything that was not the same: first what holds for all cases, then edited cases."""
    yield from _differs("eval set", baseline.eval_set.eval_set_id, candidate.eval_set.eval_set_id)
    yield from _differs("agent", baseline.agent.name, candidate.agent.name)
    before, after = baseline.config.criteria, candidate.config.criteria
    for name in {**before, **after}:
        if name not in before or name not in after:
            yield GoalpostChange(
                what=name,
                before="a criterion" if name in before else "no criterion",
                after="a criterion" if name in after else "no criterion",
            )
        else:
            yield from _differing(name, before[name], after[name])
    yield from _differing("", baseline.config.multi_run_config, candidate.config.multi_run_config)
    for name, code in baseline.config.custom_metrics.items():
        yield from _differs(f"code of {name}", code, candidate.config.custom_metrics.get(name, code))
    yield from _differs("seed", baseline.provenance.seed, candidate.provenance.seed)
    yield from _differs("stopped early", baseline.stopped, candidate.stopped)
    cases = {case.eval_id: case for case in baseline.cases}
    for case in candidate.cases:
        if case.eval_id in cases and is_edited(cases[case.eval_id], case):
            yield GoalpostChange(what=f"case {case.eval_id}", before="as it was", after="edited")


def is_edited(before: CaseResult, after: CaseResult) -> bool:
    """Whether the case itself is another; results of ADK do not say."""
    return bool(before.sha256 and after.sha256) and before.sha256 != after.sha256


def differing_keys(before: object, after: object) -> list[str]:
    """The places at which two criteria differ."""
    return [change.what for change in _differing("", before, after)]


def _differing(place: str, before: object, after: object) -> Iterator[GoalpostChange]:
    """Leaves of two nested values that are not the same, by their place."""
    before, after = _by_id(before), _by_id(after)
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            yield from _differing(f"{place}.{key}" if place else str(key), before.get(key), after.get(key))
    else:
        yield from _differs(place, before, after)


def _by_id(value: object) -> object:
    """Rubrics by their ids, so that one that changed is told and not all of them."""
    if (
        isinstance(value, list)
        and value
        and all(isinstance(one, dict) and "rubric_id" in one for one in value)
    ):
        return {one["rubric_id"]: _rubric_text(one) for one in value}
    return value


def _rubric_text(rubric: dict[str, Any]) -> object:
    content = rubric.get("rubric_content")
    text = content.get("text_property") if isinstance(content, dict) else None
    rest = {
        key: value for key, value in rubric.items() if key not in ("rubric_id", "rubric_content") and value
    }
    return {"text": text, **rest} if rest else text


def _differs(what: str, before: object, after: object) -> Iterator[GoalpostChange]:
    if before != after:
        yield GoalpostChange(what=what, before=_shown(before), after=_shown(after))


def _shown(value: object) -> str:
    return "not set" if value is None else str(value)
