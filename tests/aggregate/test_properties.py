"""What holds for the runs of any case, whatever they were."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agent_eval.aggregate.decision import has_failed_for_good
from agent_eval.aggregate.outcome import RunOutcome, outcome_of
from agent_eval.aggregate.verdict import case_result
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.multi_run import CrossRunMethod
from agent_eval.schema.result import (
    CaseResult,
    ErrorInfo,
    FailedAttempt,
    InvocationScore,
    MetricResult,
    RunRecord,
    RunStatus,
)
from agent_eval.schema.trace import EvalStatus
from agent_eval.store.journal import Journal, read_journal

THRESHOLD = 0.5
METRICS = ("higher", "lower")
"""Better when higher, and better when lower."""
FINITE = st.floats(-1e12, 1e12)
SHARES = st.sampled_from([0.0, 0.25, 0.5, 2 / 3, 0.75, 0.8, 1.0])
RATE_ONLY = st.just(CrossRunMethod.PASS_RATE)
ANY_METHOD = st.sampled_from(CrossRunMethod)


@st.composite
def configs(draw: st.DrawFn, methods: st.SearchStrategy[CrossRunMethod] = ANY_METHOD) -> EvalConfig:
    names = draw(st.sampled_from([METRICS, METRICS[:1], METRICS[1:]]))
    scoring: dict[str, Any] = {}
    for name in names:
        method = draw(methods)
        share = draw(SHARES) if method is CrossRunMethod.PASS_RATE else None
        scoring[name] = {"method": method, "threshold": share}
    multi = {
        "num_runs": draw(st.integers(1, 8)),
        "max_crashed_runs": draw(st.integers(0, 3)),
        "cross_run_scoring_by_metric": scoring,
        "cross_run_criteria": draw(st.none() | SHARES),
    }
    return EvalConfig.model_validate({"criteria": dict.fromkeys(names, THRESHOLD), "multi_run_config": multi})


def result_for(name: str, turns: list[float] | None) -> MetricResult:
    """A metric as its evaluator would give it; None is one that raised."""
    if turns is None:
        return MetricResult(
            metric_name=name, status=EvalStatus.NOT_EVALUATED, threshold=THRESHOLD, reason="RuntimeError: no"
        )

    def status(score: float) -> EvalStatus:
        met = score >= THRESHOLD if name == "higher" else score <= THRESHOLD
        return EvalStatus.PASSED if met else EvalStatus.FAILED

    overall = sum(turns) / len(turns)
    return MetricResult(
        metric_name=name,
        status=status(overall),
        score=overall,
        threshold=THRESHOLD,
        per_invocation=[InvocationScore(score=turn, status=status(turn)) for turn in turns],
    )


def completed(run_index: int, metrics: list[MetricResult], **others: Any) -> RunRecord:
    return RunRecord(
        eval_set_id="set",
        eval_id="case",
        run_index=run_index,
        seed=run_index,
        status=RunStatus.COMPLETED,
        started="2026-01-01T00:00:00.000Z",
        seconds=0.5,
        metrics=metrics,
        **others,
    )


def crashed(run_index: int, message: str = "socket reset", **others: Any) -> RunRecord:
    error = ErrorInfo(type="RuntimeError", message=message, traceback="Traceback")
    return completed(run_index, []).model_copy(update={"status": RunStatus.CRASHED, "error": error, **others})


def passing(config: EvalConfig, run_index: int) -> RunOutcome:
    best = {"higher": 1.0, "lower": 0.0}
    return outcome_of(completed(run_index, [result_for(name, [best[name]]) for name in config.criteria]))


TURNS = st.none() | st.lists(st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=4)


@st.composite
def runs_of(draw: st.DrawFn, config: EvalConfig, max_size: int = 6) -> list[RunOutcome]:
    records = []
    for run_index in range(draw(st.integers(0, max_size))):
        if draw(st.integers(0, 4)) == 0:
            records.append(crashed(run_index))
        else:
            records.append(completed(run_index, [result_for(n, draw(TURNS)) for n in config.criteria]))
    return [outcome_of(record) for record in records]


@st.composite
def situations(
    draw: st.DrawFn, methods: st.SearchStrategy[CrossRunMethod] = ANY_METHOD, max_size: int = 6
) -> tuple[EvalConfig, list[RunOutcome]]:
    config = draw(configs(methods))
    return config, draw(runs_of(config, max_size))


def result_of(config: EvalConfig, outcomes: list[RunOutcome]) -> CaseResult:
    """The result once all runs are made: as many as there are."""
    multi = config.multi_run_config.model_copy(update={"num_runs": max(1, len(outcomes))})
    return case_result("set", "case", "", config.model_copy(update={"multi_run_config": multi}), outcomes)


@given(situations(RATE_ONLY))
def test_another_passing_run_never_turns_passed_into_failed_under_pass_rate(
    situation: tuple[EvalConfig, list[RunOutcome]],
) -> None:
    config, outcomes = situation
    before = result_of(config, outcomes)
    after = result_of(config, [*outcomes, passing(config, len(outcomes))])
    if before.verdict is EvalStatus.PASSED:
        assert after.verdict is EvalStatus.PASSED
    if after.verdict is EvalStatus.FAILED:
        assert before.verdict is EvalStatus.FAILED or not before.scored


@given(situations())
def test_another_passing_run_never_lowers_a_rate(situation: tuple[EvalConfig, list[RunOutcome]]) -> None:
    config, outcomes = situation
    before, after = rates(config, outcomes), rates(config, [*outcomes, passing(config, len(outcomes))])
    for name, rate in after.items():
        assert rate is not None
        assert before[name] is None or before[name] <= rate


@given(situations(), st.integers(0, 6))
def test_crashed_runs_are_in_no_denominator(situation: tuple[EvalConfig, list[RunOutcome]], at: int) -> None:
    config, outcomes = situation
    without = result_of(config, outcomes)
    late = outcome_of(crashed(len(outcomes)))
    with_crash = result_of(config, [*outcomes[:at], late, *outcomes[at:]])
    assert (with_crash.attempts, with_crash.crashed) == (without.attempts + 1, without.crashed + 1)
    for name in ("scored", "passed", "pass_rate", "interval"):
        assert getattr(with_crash, name) == getattr(without, name)
    assert with_crash.flaky == (with_crash.passed > 0)
    for metric, before in zip(with_crash.metrics, without.metrics, strict=True):
        for name in ("score", "threshold", "status", "passed", "scored", "pass_rate", "interval"):
            assert getattr(metric, name) == getattr(before, name)
        assert metric.per_run == [*before.per_run, None]
    if with_crash.crashed <= config.multi_run_config.max_crashed_runs:
        assert with_crash.verdict is without.verdict or not outcomes
    else:
        assert with_crash.verdict is EvalStatus.FAILED


@given(situations(), st.randoms(use_true_random=False))
def test_order_of_completion_never_changes_a_result(
    situation: tuple[EvalConfig, list[RunOutcome]], random: Any
) -> None:
    config, outcomes = situation
    shuffled = random.sample(outcomes, len(outcomes))
    assert case_result("set", "case", "", config, shuffled) == case_result(
        "set", "case", "", config, outcomes
    )
    assert has_failed_for_good(config, shuffled, 2) == has_failed_for_good(config, outcomes, 2)


TEXTS = st.text(max_size=20)
TURN_SCORES = st.fixed_dictionaries(
    {
        "score": st.none() | FINITE,
        "status": st.sampled_from(EvalStatus),
        "details": st.none() | st.dictionaries(st.sampled_from(["input_tokens", "output_tokens"]), FINITE),
    }
)
ANY_METRIC = st.fixed_dictionaries(
    {
        "metric_name": st.sampled_from([*METRICS, "token_usage_v1"]),
        "status": st.sampled_from(EvalStatus),
        "score": st.none() | FINITE,
        "threshold": st.none() | FINITE,
        "per_invocation": st.lists(TURN_SCORES, max_size=3),
        "reason": st.none() | TEXTS,
    }
).map(MetricResult.model_validate)
ERRORS = st.fixed_dictionaries({"type": TEXTS, "message": TEXTS, "traceback": st.none() | TEXTS})
ATTEMPTS = st.fixed_dictionaries(
    {"started": st.just("2026-01-01T00:00:00.000Z"), "seconds": st.floats(0, 1e6), "error": ERRORS}
).map(FailedAttempt.model_validate)


@st.composite
def any_records(draw: st.DrawFn) -> list[RunRecord]:
    """Records as any evaluator, also one of the user's own, may leave them."""
    records = []
    for run_index in range(draw(st.integers(0, 4))):
        attempts = draw(st.lists(ATTEMPTS, max_size=2))
        if draw(st.booleans()):
            records.append(crashed(run_index, draw(TEXTS), failed_attempts=attempts))
        else:
            metrics = draw(st.lists(ANY_METRIC, max_size=3, unique_by=lambda metric: metric.metric_name))
            records.append(completed(run_index, metrics, failed_attempts=attempts))
    return records


@given(configs(), any_records())
@settings(max_examples=60)
def test_verdict_from_the_journal_is_the_verdict_live(
    tmp_path_factory: pytest.TempPathFactory, config: EvalConfig, records: list[RunRecord]
) -> None:
    path = tmp_path_factory.mktemp("journal") / "case.runs.jsonl"
    with Journal(path) as journal:
        for record in reversed(records):
            journal.append(record)
    live = [outcome_of(record) for record in records]
    stored = [outcome_of(record) for record in read_journal(path)]
    assert stored == live[::-1]
    assert case_result("set", "case", "", config, stored) == case_result("set", "case", "", config, live)


def possible_runs(config: EvalConfig, run_index: int) -> list[RunOutcome]:
    """One run of each kind there can be: crashed, and every metric at its best, its worst or absent."""
    values: list[list[float] | None] = [[0.0], [1.0], None]
    choices = itertools.product(values, repeat=len(config.criteria))
    records = [
        completed(run_index, [result_for(n, v) for n, v in zip(config.criteria, chosen, strict=True)])
        for chosen in choices
    ]
    return [outcome_of(record) for record in (crashed(run_index), *records)]


def completions(config: EvalConfig, outcomes: list[RunOutcome], remaining: int) -> list[EvalStatus]:
    """The verdict after every way in which the remaining runs can end."""
    kinds = [possible_runs(config, len(outcomes) + index) for index in range(remaining)]
    return [result_of(config, [*outcomes, *further]).verdict for further in itertools.product(*kinds)]


@given(situations(max_size=4), st.integers(0, 2))
@settings(max_examples=80)
def test_what_has_failed_for_good_fails_however_the_remaining_runs_end(
    situation: tuple[EvalConfig, list[RunOutcome]], remaining: int
) -> None:
    config, outcomes = situation
    assume(outcomes)
    if has_failed_for_good(config, outcomes, remaining):
        assert set(completions(config, outcomes, remaining)) == {EvalStatus.FAILED}


@given(situations(max_size=4), st.integers(0, 2))
@settings(max_examples=80)
def test_what_can_still_pass_has_not_failed_for_good(
    situation: tuple[EvalConfig, list[RunOutcome]], remaining: int
) -> None:
    config, outcomes = situation
    assume(outcomes)
    if EvalStatus.PASSED in completions(config, outcomes, remaining):
        assert not has_failed_for_good(config, outcomes, remaining)


WITHOUT_MEAN = st.sampled_from([CrossRunMethod.PASS_RATE, CrossRunMethod.MIN_OVER_RUNS])


@given(situations(WITHOUT_MEAN, max_size=4), st.integers(0, 2))
@settings(max_examples=80)
def test_failure_is_noticed_at_once_where_no_mean_can_make_up_for_it(
    situation: tuple[EvalConfig, list[RunOutcome]], remaining: int
) -> None:
    config, outcomes = situation
    assume(outcomes)
    if set(completions(config, outcomes, remaining)) == {EvalStatus.FAILED}:
        assert has_failed_for_good(config, outcomes, remaining)


def rates(config: EvalConfig, outcomes: list[RunOutcome]) -> dict[str, float | None]:
    """Every pass rate of the case."""
    result = result_of(config, outcomes)
    return {"case": result.pass_rate, **{m.metric_name: m.pass_rate for m in result.metrics if m.method}}
