"""Runs through the whole flow in this process: what goes wrong in one concerns that one alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_eval.options import Options
from agent_eval.pipeline import Finished, evaluate
from agent_eval.preparation import plan_evaluation
from agent_eval.schema.result import RunRecord, RunStatus
from agent_eval.schema.trace import EvalStatus, get_all_tool_calls
from tests.cli_support import RESPONSES, Project, case, custom, eval_set

pytestmark = pytest.mark.usefixtures("own_imports")


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in the current folder, whose config looks at answers only."""
    monkeypatch.chdir(project.root)
    project.write("eval_config.json", RESPONSES)
    return project


def run(project: Project, *cases: dict[str, Any], **options: Any) -> dict[str, RunRecord]:
    """Runs `bot` on the cases; the record of each one's last run."""
    finish(project, *cases, **options)
    return {record.eval_id: record for record in project.records()}


def finish(project: Project, *cases: dict[str, Any], **options: Any) -> Finished:
    project.write("set.json", eval_set(*cases))
    evaluation = plan_evaluation(Options(agent="bot", eval_sets=("set.json",), **options))
    (finished,) = asyncio.run(evaluate(evaluation))
    return finished


FAILURES = {
    "exception": ("raise LookupError('no such order')", "LookupError", "no such order"),
    "exception without a message": ("raise LookupError", "LookupError", "LookupError"),
    "exit": ("raise SystemExit(3)", "SystemExit", "3"),
    "cancelled": ("raise asyncio.CancelledError('gave up')", "CancelledError", "gave up"),
    "base exception": ("raise BaseException('odd')", "BaseException", "odd"),
    "group": (
        "raise ExceptionGroup('both', [ValueError(1), KeyError(2)])",
        "ExceptionGroup",
        "both (2 sub-exceptions)",
    ),
}


@pytest.mark.parametrize(("statement", "kind", "message"), FAILURES.values(), ids=FAILURES.keys())
@pytest.mark.parametrize("keyword", ["async def", "def"])
def test_what_an_agent_raises_is_in_the_record_and_harms_no_other(
    here: Project, keyword: str, statement: str, kind: str, message: str
) -> None:
    here.agent(
        f"""\
        import asyncio

        def look_up():
            return "found"

        {keyword} root_agent(message, session):
            if message.text == "second":
                session.call_tool_sync(look_up)
                {statement}
            return message.text
        """
    )

    records = run(here, case("good", "first", "third"), case("bad", "first", "second", "third"), case("fine"))

    bad = records["bad"]
    assert bad.status is RunStatus.CRASHED
    assert bad.error
    assert (bad.error.type, bad.error.message) == (kind, message)
    assert "agent.py" in (bad.error.traceback or "")
    assert bad.metrics == []
    whole, broken = bad.invocations
    assert whole.final_response
    assert whole.final_response.text == "first"
    assert [call.name for call in get_all_tool_calls(broken.intermediate_data)] == ["look_up"]
    assert broken.final_response is None
    for eval_id in ("good", "fine"):
        record = records[eval_id]
        assert record.status is RunStatus.COMPLETED
        assert {metric.status for metric in record.metrics} == {EvalStatus.PASSED, EvalStatus.INFORMATIONAL}


@pytest.mark.parametrize("sleep", ["await asyncio.sleep(60)", "await asyncio.to_thread(blocked.wait, 60)"])
def test_run_that_takes_too_long_crashes_alone(here: Project, sleep: str) -> None:
    here.agent(
        f"""\
        import asyncio
        import threading

        blocked = threading.Event()

        async def root_agent(message, session):
            session.state["asked"] = message.text
            if message.text == "slow":
                try:
                    {sleep}
                finally:
                    blocked.set()
            return message.text
        """
    )

    records = run(here, case("a"), case("slow", "slow"), case("b"), timeout=0.2)

    error = records["slow"].error
    assert error
    assert error.type == "RunTimeoutError"
    assert error.message == "the run took longer than 0.2 s (--timeout)"
    session = records["slow"].session
    assert session
    assert session.state == {"asked": "slow"}
    assert records["a"].status is records["b"].status is RunStatus.COMPLETED


def test_blocking_agent_that_takes_too_long_is_left_behind(here: Project) -> None:
    here.agent(
        """\
        import threading

        released = threading.Event()

        def root_agent(message, session):
            if message.text == "slow":
                released.wait(60)
            return message.text
        """
    )

    records = run(here, case("slow", "slow"), case("b"), timeout=0.2)

    import bot.agent  # the agent that was run

    bot.agent.released.set()
    assert records["slow"].status is RunStatus.CRASHED
    assert records["b"].status is RunStatus.COMPLETED


def test_agent_that_cannot_be_made_crashes_the_run_before_its_first_turn(here: Project) -> None:
    here.agent("async def get_agent_async():\n    raise ConnectionError('no model')\n")

    record = run(here, case("a"))["a"]

    assert record.error
    assert (record.error.type, record.error.message) == ("ConnectionError", "no model")
    assert record.invocations == []


METRICS = """\
    import asyncio

    from agent_eval import EvalStatus, EvaluationResult


    def good(metric, actual, expected, scenario):
        return EvaluationResult(overall_score=1.0, overall_eval_status=EvalStatus.PASSED)


    def raises(metric, actual, expected, scenario):
        raise RuntimeError("quota exceeded")


    def leaves(metric, actual, expected, scenario):
        raise SystemExit(3)


    def infinite(metric, actual, expected, scenario):
        return EvaluationResult(overall_score=float("inf"), overall_eval_status=EvalStatus.PASSED)


    def silent(metric, actual, expected, scenario):
        return None


    def unsure(metric, actual, expected, scenario):
        return EvaluationResult()


    async def slow(metric, actual, expected, scenario):
        await asyncio.sleep(0)
        raise ValueError("late")


    def spoils(metric, actual, expected, scenario):
        actual.clear()
        expected.clear()
        metric.metric_name = "renamed"
        raise RuntimeError("spoiled")
    """


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("raises", "RuntimeError: quota exceeded"),
        ("leaves", "SystemExit: 3"),
        ("infinite", "returned the score inf, not a finite number"),
        ("silent", "returned NoneType, not an EvaluationResult or a number"),
        ("unsure", "the metric did not evaluate the run"),
        ("slow", "ValueError: late"),
        ("spoils", "RuntimeError: spoiled"),
    ],
)
def test_metric_that_gives_no_score_is_not_evaluated_and_leaves_the_others(
    here: Project, name: str, reason: str
) -> None:
    here.agent()
    here.write("gates.py", METRICS)
    here.write("eval_config.json", custom(name, "good", response_match_score=0.8))

    finished = finish(here, case("a"), case("b"))

    for record in here.records():
        metric = record.metric(name)
        assert metric
        assert (metric.status, metric.score, metric.reason) == (EvalStatus.NOT_EVALUATED, None, reason)
        others = [record.metric("good"), record.metric("response_match_score")]
        assert [other and (other.score, other.status) for other in others] == [(1.0, EvalStatus.PASSED)] * 2
    assert [one.verdict for one in finished.result.cases] == [EvalStatus.NOT_EVALUATED] * 2


def test_metric_that_raises_keeps_its_traceback(here: Project) -> None:
    here.agent()
    here.write("gates.py", METRICS)
    here.write("eval_config.json", custom("raises"))

    metric = run(here, case("a"))["a"].metric("raises")

    assert metric
    assert metric.error
    assert (metric.error.type, metric.error.message) == ("RuntimeError", "quota exceeded")
    assert "gates.py" in (metric.error.traceback or "")


def test_run_is_scored_while_others_are_still_under_way(here: Project) -> None:
    here.write(
        "gates.py",
        """\
        import asyncio

        from agent_eval import EvalStatus, EvaluationResult

        scored = asyncio.Event()


        def gate(metric, actual, expected, scenario):
            scored.set()
            return EvaluationResult(overall_score=1.0, overall_eval_status=EvalStatus.PASSED)
        """,
    )
    here.write("eval_config.json", custom("gate"))
    here.agent(
        """\
        import asyncio

        from gates import scored


        async def root_agent(message, session):
            if message.text == "wait":
                await asyncio.wait_for(scored.wait(), 30)  # only ends when another run is scored
            return message.text
        """
    )

    records = run(here, case("waits", "wait"), case("quick"))

    assert all(record.status is RunStatus.COMPLETED for record in records.values())


def test_record_is_in_the_journal_before_the_next_run_of_its_place_begins(here: Project) -> None:
    here.agent(
        """\
        from pathlib import Path


        def root_agent(message, session):
            journals = list(Path(".agent_eval").glob("results/*/*.jsonl"))
            session.state["lines"] = journals[0].read_text().count("\\n")
            return message.text
        """
    )

    records = run(here, case("a"), case("b"), case("c"), parallelism=1)

    sessions = [records[eval_id].session for eval_id in "abc"]
    assert [session and session.state for session in sessions] == [{"lines": 0}, {"lines": 1}, {"lines": 2}]


COUNTING = """\
    import asyncio

    under_way = 0
    most = 0


    async def root_agent(message, session):
        global under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return message.text
    """


@pytest.mark.parametrize("parallelism", [1, 3])
def test_no_more_runs_are_under_way_than_the_parallelism_allows(here: Project, parallelism: int) -> None:
    here.agent(COUNTING)

    run(here, *(case(f"case {number}") for number in range(9)), parallelism=parallelism)

    import bot.agent  # the agent that was run

    assert bot.agent.most == parallelism


def test_context_variable_of_one_run_is_not_seen_by_another(here: Project) -> None:
    here.agent(
        """\
        import asyncio
        from contextvars import ContextVar

        customer = ContextVar("customer", default="nobody")
        both = asyncio.Barrier(2)


        async def root_agent(message, session):
            before = customer.get()
            customer.set(message.text)
            await both.wait()  # the other run has set its own by now
            return f"{before} then {customer.get()}"
        """
    )

    records = run(here, case("a", "ann"), case("b", "bob"), parallelism=2)

    answers = [record.invocations[0].final_response for record in records.values()]
    assert [answer and answer.text for answer in answers] == ["nobody then ann", "nobody then bob"]


def test_state_of_a_case_is_not_changed_by_its_runs(here: Project) -> None:
    here.agent(
        """\
        def root_agent(message, session):
            session.state["cart"].append(message.text)
            return " ".join(session.state["cart"])
        """
    )
    session = {"app_name": "bot", "user_id": "u", "state": {"cart": ["apple"]}}

    finish(here, case("a", "pear", session_input=session), num_runs=3)

    sessions = [record.session for record in here.records()]
    assert [session and session.state for session in sessions] == [{"cart": ["apple", "pear"]}] * 3


def test_pinned_session_id_still_starts_every_run_empty(here: Project) -> None:
    here.agent("def root_agent(message, session):\n    return str(len(session.history))\n")
    session = {"app_name": "bot", "user_id": "u", "session_id": "pinned"}

    finish(here, case("a", "x", "y", session_input=session), num_runs=2)

    for record in here.records():
        assert record.session
        assert record.session.session_id == "pinned"
        answers = [turn.final_response for turn in record.invocations]
        assert [answer and answer.text for answer in answers] == ["0", "1"]


def drawn(project: Project, **options: Any) -> list[str]:
    finish(project, case("a"), case("b"), num_runs=2, **options)
    return [
        turn.final_response.text for r in project.records() for turn in r.invocations if turn.final_response
    ]


def test_same_seed_gives_each_run_the_same_draws_and_each_run_its_own(here: Project) -> None:
    here.agent("def root_agent(message, session):\n    return str(session.random.random())\n")

    first, again, other = drawn(here, seed=7), drawn(here, seed=7, parallelism=1), drawn(here, seed=8)

    assert first == again
    assert len(set(first)) == 4
    assert not set(first) & set(other)


def test_cases_stand_in_plan_order_whatever_finishes_first(here: Project) -> None:
    here.agent(
        """\
        import asyncio

        others = asyncio.Event()


        async def root_agent(message, session):
            if message.text == "last":
                others.set()
            else:
                await others.wait()
            return message.text
        """
    )

    finished = finish(here, case("z", "first"), case("a", "second"), case("m", "last"))

    assert [one.eval_id for one in finished.result.cases] == ["z", "a", "m"]


def test_crashed_run_is_in_no_denominator(here: Project) -> None:
    here.agent(
        """\
        def root_agent(message, session):
            if session.run_index == 1:
                raise RuntimeError("socket reset")
            return message.text
        """
    )

    (found,) = finish(here, case("a"), num_runs=3).result.cases

    assert (found.attempts, found.scored, found.passed, found.crashed) == (3, 2, 2, 1)
    assert found.pass_rate == 1.0
    assert found.metrics[0].per_run == [1.0, None, 1.0]
    assert found.flaky
