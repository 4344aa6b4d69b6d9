"""Limits, pauses and adaptive parallelism as the command line has them, and what progress shows of them."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from agent_eval import clock
from agent_eval.cli import progress
from agent_eval.cli.progress import Bar, Lines, Load, Tally
from agent_eval.engine.places import AdaptivePlaces, Places
from agent_eval.load.pace import Limits
from agent_eval.load.refusals import Refusal
from agent_eval.load.traffic import Traffic
from agent_eval.schema.result import RunRecord
from tests.busy_server import busy
from tests.cli_support import RESPONSES, Project, case, eval_set


@pytest.fixture
def shop(project: Project) -> Project:
    project.agent()
    project.write("set.json", eval_set(*(case(f"case{number}", "hi") for number in range(6))))
    project.write("config.json", RESPONSES)
    return project


RUN = ("run", "bot", "set.json", "--config", "config.json")


@pytest.mark.parametrize("given", ["0", "-1", "1.5", "many", ""])
def test_parallelism_is_a_number_or_auto(shop: Project, given: str) -> None:
    done = shop.agent_eval(*RUN, f"--parallelism={given}")

    assert done.code == 2
    assert "is neither `auto` nor a whole number from 1 on" in " ".join(done.stderr.replace("│", " ").split())


@pytest.mark.parametrize("given", ["1", "auto"])
def test_all_runs_are_made_at_any_parallelism(shop: Project, given: str) -> None:
    done = shop.agent_eval(*RUN, "--parallelism", given)

    assert done.code == 0, done.stderr
    assert len(shop.records()) == 6


def test_dry_run_tells_of_it(shop: Project) -> None:
    done = shop.agent_eval(*RUN, "--parallelism", "auto", "--dry_run", COLUMNS="120")

    assert "6 runs would be made, as many as goes well at once; nothing was run." in done.stdout
    assert (
        shop.agent_eval(*RUN, "--parallelism=auto", "--dry_run", "--json").document["parallelism"] == "auto"
    )


def test_limits_that_cannot_hold_are_told(shop: Project) -> None:
    done = shop.agent_eval(*RUN, "--rpm", "100")

    assert "warning: --rpm and --tpm hold for model calls of `bot` only for those in" in done.stderr
    assert "--rpm" not in shop.agent_eval(*RUN).stderr


def test_refusals_are_told_at_the_end(shop: Project) -> None:
    with busy(lambda number, _: number <= 2) as server:
        done = shop.agent_eval("run", "--url", server.url, "set.json", "--config", "config.json", "--rpm=9")

    assert done.code == 0, done.stderr
    assert f"warning: 2 calls refused as too many (429) by {server.place}, and made again" in done.stderr
    assert "not at all: its server makes them" in done.stderr


def load(places: Places, limits: Limits | None = None, *, refused: float | None = None) -> Load:
    """A load whose endpoint wants to be left alone for so long."""
    traffic = Traffic(limits)
    if refused is not None:
        traffic.refused(Refusal("models.example", refused))
    return Load(places, traffic)


def busy_limits() -> Limits:
    limits = Limits(rpm=1)
    limits.book()
    return limits


LOADS = {
    "as it was asked for": (lambda: load(Places(8)), ""),
    "adaptive": (lambda: load(AdaptivePlaces()), ", 4 at once"),
    "paused": (lambda: load(AdaptivePlaces(), refused=4.0), ", 4 at once, waiting 4.0 s (429)"),
    "pause over": (lambda: load(Places(8), refused=0.0), ""),
    "limited": (lambda: load(Places(8), busy_limits()), ", at the limit a minute"),
}


@pytest.mark.parametrize(("made", "text"), LOADS.values(), ids=LOADS)
def test_progress_tells_what_is_not_as_it_was_asked_for(
    made: object, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "monotonic", lambda: 100.0)

    assert callable(made)
    assert str(Tally(40, made())) == f"0/40 runs{text}"


def record() -> RunRecord:
    return RunRecord(
        eval_set_id="s", eval_id="a", run_index=0, seed=0, started="2026-01-31T09:30:00Z", seconds=0.01
    )


def test_line_in_a_pipe_tells_of_a_pause_that_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(clock, "monotonic", lambda: now)
    stream, shown = io.StringIO(), load(Places(8))
    lines = Lines(stream, 40, shown)
    lines.finished(record())
    now += progress.LINE_EVERY
    shown.traffic.refused(Refusal("", 30.0))
    shown.traffic.refused(Refusal("", 30.0))

    assert stream.getvalue().splitlines() == ["1/40 runs, waiting 30.0 s (429), 6 min 30 s left"]


def test_bar_shows_the_load_as_it_is_now() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    places = AdaptivePlaces()
    with Bar(console, 40, load(places)) as bar:
        bar.finished(record())
        places.size = 7
        bar._bar.refresh()

    assert isinstance(console.file, io.StringIO)
    assert "1/40 runs, 7 at once" in console.file.getvalue()
