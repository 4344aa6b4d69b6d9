"""Each case is in exactly one shard, and no shard has much more than another."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_eval.errors import InputError
from agent_eval.inputs.choice import Choice
from agent_eval.inputs.shards import Shard, parse_shard
from agent_eval.options import Options
from agent_eval.selection import select
from tests.cli_support import Project, case, eval_set


@given(count=st.integers(1, 40), cases=st.integers(0, 200))
def test_every_case_is_in_exactly_one_shard_and_they_are_balanced(count: int, cases: int) -> None:
    parts = [
        [position for position in range(cases) if Shard(index, count).has(position)]
        for index in range(1, count + 1)
    ]
    assert sorted(position for part in parts for position in part) == list(range(cases))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@given(count=st.integers(1, 99), data=st.data())
def test_a_shard_is_read_as_it_is_written(count: int, data: st.DataObject) -> None:
    shard = Shard(data.draw(st.integers(1, count)), count)
    assert parse_shard(str(shard)) == parse_shard(f" {shard.index} / {count} ") == shard


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "-1/3", "1/0", "1/3/5", "a/b", "1.0/3", "\u0661/3"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="takes i/n"):
        parse_shard(text)


SIZES = {"a": 5, "b": 1, "c": 4}


@pytest.fixture
def sets(project: Project, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    for name, size in SIZES.items():
        cases = [case(f"{name}{number}") for number in range(size)]
        project.write(f"{name}.json", eval_set(*cases, eval_set_id=name))
    monkeypatch.chdir(project.root)
    return tuple(f"{name}.json" for name in SIZES)


@pytest.mark.parametrize("count", range(1, 13))
def test_shards_are_dealt_over_all_eval_sets(sets: tuple[str, ...], count: int) -> None:
    dealt: dict[str, list[str]] = {}
    sizes = []
    for index in range(1, count + 1):
        selection = select(Options(eval_sets=sets, shard=Shard(index, count)))
        sizes.append(sum(len(read.cases) for read in selection.sets))
        for read in selection.sets:
            assert read.part is not None
            assert [read.part.every[position] for position in read.part.positions] == read.cases
            assert read.part.used == min(count, 10)
            dealt.setdefault(Path(read.loaded.path).stem, []).extend(one.eval_id for one in read.cases)
    assert {name: sorted(cases) for name, cases in dealt.items()} == {
        name: [f"{name}{number}" for number in range(size)] for name, size in SIZES.items()
    }
    assert max(sizes) - min(sizes) <= 1


def test_cases_are_chosen_first_and_then_dealt(sets: tuple[str, ...]) -> None:
    chosen = Choice(expression="a0 or a1 or c3")
    options = Options(eval_sets=sets, choice=chosen, shard=Shard(2, 3))
    assert [one.eval_id for read in select(options).sets for one in read.cases] == ["a1"]


def test_a_shard_without_cases_says_so(sets: tuple[str, ...]) -> None:
    selection = select(Options(eval_sets=sets, shard=Shard(11, 11)))
    assert selection.sets == ()
    assert selection.warnings == ("shard 11/11 has no case, as there are no more than 10",)


@pytest.mark.parametrize("choice", [Choice(last_failed=True), Choice(failed_first=True)])
def test_what_one_machine_remembers_cannot_be_shared_out(sets: tuple[str, ...], choice: Choice) -> None:
    with pytest.raises(InputError, match="the same cases on each machine"):
        select(Options(eval_sets=sets, choice=choice, shard=Shard(1, 2)))
