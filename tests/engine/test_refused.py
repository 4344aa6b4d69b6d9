"""Runs that an endpoint refuses, as it is asked too much (429): all wait, and nothing is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_eval.load import pauses, traffic
from agent_eval.options import Options
from agent_eval.pipeline import Finished, evaluate
from agent_eval.preparation import Evaluation, plan_evaluation
from agent_eval.schema.result import RunRecord, RunStatus
from tests.busy_server import busy
from tests.cli_support import Project, case, eval_set
from tests.engine.test_run import here

__all__ = ["here"]

pytestmark = pytest.mark.usefixtures("own_imports")

REFUSING = '''\
"""Refuses the first attempts of each run, then answers."""

import asyncio
from collections import Counter

attempts = Counter()


class RateLimited(Exception):
    status_code = 429
    retry_after = {retry_after}


async def root_agent(message, session):
    attempts[message.text] += 1
    if attempts[message.text] <= {refused}:
        raise RateLimited("too many requests")
    return message.text
'''


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (pauses, traffic):
        monkeypatch.setattr(module, "FIRST_SECONDS", 0.001)
        monkeypatch.setattr(module, "MAX_SECONDS", 0.05)


def evaluated(project: Project, *cases: dict[str, Any], **options: Any) -> tuple[Finished, Evaluation]:
    project.write("set.json", eval_set(*cases))
    evaluation = plan_evaluation(
        Options(eval_sets=("set.json",), **({} if "url" in options else {"agent": "bot"}), **options)
    )
    (finished,) = asyncio.run(evaluate(evaluation))
    return finished, evaluation


def sessions(*texts: str) -> list[dict[str, Any]]:
    """A case for each text, with a session id of its own."""
    return [
        case(text, text, session_input={"app_name": "bot", "user_id": "u", "session_id": text})
        for text in texts
    ]


def errors(record: RunRecord) -> list[str]:
    return [attempt.error.type for attempt in record.failed_attempts]


def test_refused_run_is_tried_again_and_is_no_crash(here: Project) -> None:
    here.agent(REFUSING.format(refused=2, retry_after=0.01))

    finished, evaluation = evaluated(here, *sessions("one", "two", "three"))

    assert finished.result.is_passed
    assert [errors(record) for record in here.records()] == [["RateLimited"] * 2] * 3
    assert finished.result.totals.passed == 3
    assert evaluation.traffic.refusals.total() == 6
    (warning,) = evaluation.troubles
    assert warning.startswith("6 calls refused as too many (429), and made again after a pause")


def test_refusals_come_on_top_of_retries_of_crashes(here: Project) -> None:
    here.agent(
        """\
        class RateLimitError(Exception):
            pass

        attempts = []

        def root_agent(message, session):
            attempts.append(message)
            if len(attempts) % 2:
                raise RateLimitError("slow down")
            if len(attempts) < 4:
                raise ValueError("broken")
            return message.text
        """
    )
    evaluated(here, case("one"), retry_crashed=1)

    (record,) = here.records()
    assert errors(record) == ["RateLimitError", "ValueError", "RateLimitError"]
    assert record.status is RunStatus.COMPLETED


def test_run_that_is_refused_for_good_crashes_after_a_number_of_attempts(here: Project) -> None:
    here.agent(REFUSING.format(refused=10_000, retry_after=None))

    finished, _ = evaluated(here, *sessions("one"))

    (record,) = here.records()
    assert record.error
    assert record.error.type == "RateLimited"
    assert len(record.failed_attempts) == traffic.TRIES - 1
    assert finished.result.cases[0].crashed == 1


def test_endpoint_that_asks_for_more_than_is_waited_is_given_up_at_once(here: Project) -> None:
    here.agent(REFUSING.format(refused=1, retry_after=3600))

    evaluated(here, *sessions("one"))

    (record,) = here.records()
    assert record.error
    assert record.failed_attempts == []


def test_waits_count_neither_for_the_time_limit_nor_as_the_agents_time(here: Project) -> None:
    pauses.MAX_SECONDS = traffic.MAX_SECONDS = 10.0
    here.agent(REFUSING.format(refused=2, retry_after=0.6))

    finished, _ = evaluated(here, *sessions("one"), timeout=0.5)

    (record,) = here.records()
    assert record.error is None
    assert record.seconds < 0.5
    assert finished.result.totals.duration_seconds > 1.1


def test_circuit_breaker_stays_closed_where_waiting_helps(here: Project) -> None:
    here.agent(REFUSING.format(refused=2, retry_after=0.01))

    finished, _ = evaluated(here, *sessions(*"abcdefgh"), circuit_breaker=1, parallelism=1)

    assert finished.result.stopped is None
    assert finished.result.totals.passed == 8


def test_it_opens_where_the_first_runs_are_refused_for_good(here: Project) -> None:
    here.agent(REFUSING.format(refused=10_000, retry_after=None))

    finished, _ = evaluated(here, *sessions(*"abcdefgh"), circuit_breaker=2, parallelism=2)

    assert finished.result.stopped
    assert "too many requests" in finished.result.stopped
    assert finished.result.totals.not_evaluated + finished.result.totals.failed == 8


def test_others_wait_while_one_is_refused(here: Project) -> None:
    pauses.MAX_SECONDS = traffic.MAX_SECONDS = 10.0
    here.agent(
        """\
        import asyncio

        events = []

        class TooManyRequests(Exception):
            retry_after = 0.3

        async def root_agent(message, session):
            events.append(message.text)
            if events == ["first"]:
                asyncio.get_running_loop().call_later(0.2, events.append, "still paused")
                raise TooManyRequests
            return message.text
        """
    )
    evaluated(here, *sessions("first", "second", "third"), parallelism=2)

    import bot.agent  # the agent that was run

    assert sorted(bot.agent.events) == ["first", "first", "second", "still paused", "third"]
    assert bot.agent.events.index("still paused") < bot.agent.events.index("third")


def test_served_turn_that_was_turned_away_is_sent_again(here: Project) -> None:
    with busy(lambda number, _: number <= 3) as server:
        finished, evaluation = evaluated(here, *sessions("one", "two"), url=server.url)

    assert finished.result.is_passed
    assert server.refused == 3
    assert server.asked == 5
    assert [record.failed_attempts for record in here.records()] == [[], []]
    assert evaluation.traffic.refusals == {server.place: 3}


def test_served_turn_with_a_refused_model_behind_it_is_tried_again_as_a_run(here: Project) -> None:
    with busy(lambda number, _: number <= 2, reports=True) as server:
        finished, _ = evaluated(here, *sessions("one"), url=server.url)

    assert finished.result.is_passed
    (record,) = here.records()
    assert errors(record) == ["ServerError"] * 2


def test_places_adapt_to_what_an_endpoint_takes(here: Project) -> None:
    """One that refuses what is beyond eight at once: more than four are tried, and no run is lost."""
    here.agent(
        """\
        import asyncio

        under_way = 0
        most = 0
        refused = 0

        class RateLimitError(Exception):
            retry_after = 0.01

        async def root_agent(message, session):
            global under_way, most, refused
            if under_way >= 8:
                refused += 1
                raise RateLimitError
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.01)
            under_way -= 1
            return message.text
        """
    )
    finished, evaluation = evaluated(
        here, *sessions(*(f"case{number}" for number in range(100))), parallelism="auto"
    )

    import bot.agent  # the agent that was run

    assert finished.result.totals.passed == 100
    assert bot.agent.most == 8
    assert 0 < bot.agent.refused == evaluation.traffic.refusals.total()
    assert evaluation.places.size < 16


CALLING = """\
import time

times = []


{keyword} root_agent(message, session):
    {with_} session.model_call() as call:
        times.append(time.monotonic())
        call.tokens = {tokens}
    return message.text
"""


@pytest.mark.parametrize(("keyword", "with_"), [("async def", "async with"), ("def", "with")])
@pytest.mark.parametrize(
    ("limits", "tokens"), [({"rpm": 600}, 0), ({"tpm": 60_000}, 100)], ids=["calls", "tokens"]
)
def test_model_calls_of_python_agents_keep_limits_where_they_say_that_they_are_made(
    here: Project, keyword: str, with_: str, limits: dict[str, int], tokens: int
) -> None:
    """Both limits let one call pass each 100 ms; one run at a time, so that each knows of those before it."""
    here.agent(CALLING.format(keyword=keyword, with_=with_, tokens=tokens))

    finished, evaluation = evaluated(here, *sessions(*"abcdefgh"), parallelism=1, **limits)

    import bot.agent  # the agent that was run

    assert finished.result.totals.passed == 8
    assert bot.agent.times[-1] - bot.agent.times[0] >= 0.5
    assert evaluation.warnings[-1].endswith("`bot` only for those in `session.model_call()`")


def test_sync_model_call_in_an_async_agent_is_told(here: Project) -> None:
    here.agent(CALLING.format(keyword="async def", with_="with", tokens=0))

    evaluated(here, *sessions("a"))

    (record,) = here.records()
    assert record.error
    assert (record.error.type, record.error.message[:30]) == ("TypeError", "in async agents it is `async w")


@pytest.mark.slow
def test_workers_keep_limits_together(here: Project) -> None:
    here.agent(
        """\
        import time

        async def root_agent(message, session):
            async with session.model_call():
                with open("times.txt", "a") as file:
                    file.write(f"{time.monotonic()}\\n")
            return message.text
        """
    )
    finished, _ = evaluated(here, *sessions(*"abcdefghijklmnop"), workers=2, parallelism=8, rpm=600)

    times = sorted(float(line) for line in (here.root / "times.txt").read_text().split())
    assert finished.result.totals.passed == len(times) == 16
    assert times[-1] - times[0] >= 1.1


@pytest.mark.slow
def test_workers_hear_of_what_another_was_refused(here: Project) -> None:
    with busy(lambda number, _: number <= 4, retry_after=0.2) as server:
        finished, evaluation = evaluated(
            here, *sessions(*"abcdefgh"), url=server.url, workers=2, parallelism="auto"
        )

    assert finished.result.totals.passed == 8
    assert evaluation.traffic.refusals == {server.place: server.refused}
    assert evaluation.places.size < 8
