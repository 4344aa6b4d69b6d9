"""The judge cache: the same question costs nothing, and a broken file harms nobody."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_eval import clock
from agent_eval.errors import InputError
from agent_eval.judge.base import Model, Reply, Request, Usage
from agent_eval.judge.cache import CacheStats, JudgeCache, cache_key, clear, stats
from agent_eval.judge.models import open_model
from tests.judge.support import VERDICT, image, question

T = TypeVar("T")

REPLY = Reply("ja, ﷽ \ud83d", Usage(3, 4), unseen=("image/png",))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "cache.sqlite"


def using(path: Path, story: Callable[[JudgeCache], Awaitable[T]]) -> T:
    """What a story with an open cache comes to."""

    async def whole() -> T:
        cache = JudgeCache(path)
        try:
            return await story(cache)
        finally:
            await cache.aclose()

    return asyncio.run(whole())


def kept(path: Path, *keys: str, reply: Reply = REPLY) -> None:
    async def story(cache: JudgeCache) -> None:
        for key in keys:
            cache.keep(key, reply)

    using(path, story)


def found(path: Path, key: str) -> Reply | None:
    return using(path, lambda cache: cache.get(key))


def test_reply_is_kept(path: Path) -> None:
    kept(path, "a")
    assert found(path, "a") == Reply("ja, ﷽ ?", Usage(3, 4), unseen=("image/png",))
    assert found(path, "b") is None


@given(
    st.builds(
        Reply,
        st.text(st.characters(exclude_categories=["Cs"])),
        st.builds(Usage, st.integers(0, 10**9), st.integers(0, 10**9)),
        unseen=st.lists(st.text(st.characters(exclude_categories=["Cs"]))).map(tuple),
    )
)
@settings(max_examples=25)
def test_every_reply_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, reply: Reply) -> None:
    path = tmp_path_factory.getbasetemp() / "replies.sqlite"
    kept(path, "a", reply=reply)
    assert found(path, "a") == reply


def test_what_is_kept_is_found_at_once(path: Path) -> None:
    async def story(cache: JudgeCache) -> Reply | None:
        cache.keep("a", Reply("one"))
        cache.keep("a", Reply("two"))
        return await cache.get("a")

    assert using(path, story) == Reply("two")


# What makes a question another one


def key(request: Request, sample: int = 0, model: Model | None = None) -> str:
    return cache_key(model or open_model("gemini-2.5-flash"), request, sample)


BASE: dict[str, Any] = {"system": "s", "schema": VERDICT, "temperature": 0.5}

OTHERS: dict[str, tuple[Request, int]] = {
    "sample": (question("q", **BASE), 1),
    "text": (question("Q", **BASE), 0),
    "system": (question("q", **BASE | {"system": "S"}), 0),
    "schema": (question("q", **BASE | {"schema": {"type": "object"}}), 0),
    "setting": (question("q", **BASE | {"temperature": 0.6}), 0),
    "medium": (question("q", image(b"1"), **BASE), 0),
    "other medium": (question("q", image(b"2"), **BASE), 0),
    "address": (question("q", **BASE, http={"base_url": "http://other"}), 0),
}


def test_every_part_of_a_question_counts() -> None:
    keys = {key(request, sample) for request, sample in OTHERS.values()} | {key(question("q", **BASE))}
    assert len(keys) == len(OTHERS) + 1


@pytest.mark.parametrize(
    "http",
    [{"headers": {"Authorization": "secret"}}, {"timeout": 5}, {"retry_options": {"attempts": 9}}],
    ids=str,
)
def test_how_a_question_travels_does_not(http: Any) -> None:
    assert key(question("q", http=http)) == key(question("q"))


def test_model_and_endpoint_count_but_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(url: str | None = None, api_key: str = "one", name: str = "openai/m") -> str:
        monkeypatch.setenv("OPENAI_API_KEY", api_key)
        monkeypatch.setenv("OPENAI_BASE_URL", url or "http://a/v1")
        return key(question("q"), model=open_model(name))

    assert len({of(), of("http://b/v1"), of(name="openai/n"), key(question("q"))}) == 4
    assert of(api_key="two") == of()
    assert of("http://me:word@a/v1/?key=x") == of()


# Several at once


def test_same_question_at_once_waits_for_the_first(path: Path) -> None:
    async def story(cache: JudgeCache) -> list[str]:
        seen: list[str] = []

        async def one() -> None:
            async with cache.turn("a"):
                if await cache.get("a"):
                    seen.append("found")
                    return
                await asyncio.sleep(0.01)
                cache.keep("a", REPLY)
                seen.append("asked")

        await asyncio.gather(*(one() for _ in range(3)))
        return seen

    assert using(path, story) == ["asked", "found", "found"]


WRITER = """
import asyncio, sys
from pathlib import Path
from agent_eval.judge.base import Reply
from agent_eval.judge.cache import JudgeCache

async def main(path, name):
    cache = JudgeCache(Path(path))
    for number in range(200):
        cache.keep(f"{name}{number}", Reply(name))
        cache.keep(f"shared{number}", Reply(name))
        if number % 20 == 0:
            await cache.get(f"shared{number}")
    await cache.aclose()
    sys.exit(cache.trouble)

asyncio.run(main(*sys.argv[1:]))
"""


def test_processes_share_a_file(path: Path) -> None:
    started = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "abc"]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    assert stats(path).entries == 4 * 200
    assert found(path, "b199") == Reply("b")


# Files that are of no use


def unusable(path: Path) -> None:
    """Nothing is found, nothing fails, and the reason is there, once."""

    async def story(cache: JudgeCache) -> str | None:
        assert await cache.get("a") is None
        cache.keep("a", REPLY)
        assert await cache.get("a") is None
        return cache.trouble

    trouble = using(path, story)
    assert trouble is not None
    assert str(path) in trouble


def test_file_that_is_no_database(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database" * 999)
    unusable(path)
    assert path.read_bytes() == b"no database" * 999


def test_database_that_is_damaged(path: Path) -> None:
    kept(path, *(str(number) for number in range(2000)))
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    unusable(path)


def test_database_of_another_kind(path: Path) -> None:
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE replies (something TEXT)")
    unusable(path)


def test_folder_in_its_place(path: Path) -> None:
    path.mkdir(parents=True)
    unusable(path)


def test_file_in_the_place_of_its_folder(path: Path) -> None:
    path.parent.write_text("")
    unusable(path)


def test_file_that_somebody_else_holds(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_eval.judge.cache._BUSY_SECONDS", 0.1)
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("CREATE TABLE t (x)")
        other.execute("BEGIN EXCLUSIVE")
        unusable(path)


def test_entry_that_is_no_reply_is_not_found(path: Path) -> None:
    kept(path, "a", "b")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("UPDATE replies SET reply = '{\"text\": 1' WHERE key = 'a'")
        other.execute("UPDATE replies SET reply = '[]' WHERE key = 'b'")

    assert (found(path, "a"), found(path, "b")) == (None, None)


def test_loop_is_not_held_up_by_writing(path: Path) -> None:
    async def story(cache: JudgeCache) -> float:
        await cache.get("warm")
        start = clock.monotonic()
        for number in range(1000):
            cache.keep(str(number), REPLY)
        return clock.monotonic() - start

    assert using(path, story) < 0.5
    assert stats(path).entries == 1000


# Looking at it and emptying it


def test_statistics(path: Path) -> None:
    assert stats(path) == CacheStats()
    assert not path.parent.exists()
    start = clock.now()
    kept(path, "a", "b")

    held = stats(path)
    assert held.entries == 2
    assert held.bytes > 0
    assert held.oldest is not None
    assert held.newest is not None
    assert start <= held.oldest <= held.newest <= clock.now()


def test_clearing(path: Path) -> None:
    assert clear(path) == CacheStats()
    assert not path.exists()
    kept(path, *(f"{number}" for number in range(500)))
    before = stats(path)

    assert clear(path).entries == 500
    after = stats(path)
    assert after.entries == 0
    assert after.bytes < before.bytes
    kept(path, "a")
    assert found(path, "a") is not None


def test_clearing_while_another_has_it_open(path: Path) -> None:
    async def story(cache: JudgeCache) -> Reply | None:
        cache.keep("a", REPLY)
        await cache.get("a")
        assert clear(path).entries == 1
        assert await cache.get("a") is None
        cache.keep("a", REPLY)
        return await cache.get("a")

    assert using(path, story) is not None


def test_clearing_removes_what_is_damaged(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database" * 999)
    with pytest.raises(InputError, match="cache clear") as caught:
        stats(path)
    assert str(path) in str(caught.value)

    assert clear(path).bytes == 11 * 999
    assert not path.exists()


def test_database_of_another_kind_is_not_cleared(path: Path) -> None:
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE replies (something TEXT)")
    with pytest.raises(InputError):
        clear(path)
    assert path.exists()
