"""Agents of plain Python: every kind of callable, its session, and how its code is found."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from agent_eval import Content, Event, Invocation, Part, Session
from agent_eval.agents.base import Agent, SessionRequest, Turn
from agent_eval.agents.factory import given
from agent_eval.agents.python import PythonAgent
from agent_eval.agents.resolve import AgentOptions, resolve_agent
from agent_eval.errors import AgentError
from agent_eval.schema.trace import get_all_tool_calls_with_responses
from tests.cli_support import ECHO, Project

pytestmark = pytest.mark.usefixtures("own_imports")


def said(text: str, **keys: Any) -> Content:
    return Content(role="model", parts=[Part(text=text, **keys)])


def made_of(target: Callable[..., Any]) -> PythonAgent:
    return PythonAgent("bot", given(target))


def request(run_index: int = 0, seed: int = 1, **state: Any) -> SessionRequest:
    return SessionRequest("shop", "u1", "s1", dict(state), run_index, seed)


async def converse(agent: Agent, *texts: str, **state: Any) -> list[Invocation]:
    """A conversation of these user turns."""
    session = await agent.open(request(**state))
    turns = [Turn(Content(role="user", parts=[Part(text=text)])) for text in texts]
    for turn in turns:
        await session.send(turn)
    await session.close()
    return [turn.invocation() for turn in turns]


def one_turn(target: Callable[..., Any], text: str = "hi") -> Invocation:
    (invocation,) = asyncio.run(converse(made_of(target), text))
    return invocation


def answer(invocation: Invocation) -> str | None:
    return invocation.final_response.text if invocation.final_response else None


def steps(invocation: Invocation) -> list[tuple[str, str]]:
    """Author and gist of every step before the answer: what is said, `call name`, or `result name`."""
    found = []
    for event in getattr(invocation.intermediate_data, "invocation_events", []):
        for part in (event.content.parts if event.content else None) or []:
            call, response = part.function_call, part.function_response
            gist = f"call {call.name}" if call else f"result {response.name}" if response else part.text or ""
            found.append((event.author, gist))
    return found


def function(message: Content, session: Session) -> str:
    return f"{message.text}!"


async def async_function(message: Content, session: Session) -> Content:
    return said(f"{message.text}!")


def generator(message: Content, session: Session) -> Iterator[str]:
    yield "one moment"
    yield f"{message.text}!"


async def async_generator(message: Content, session: Session) -> AsyncIterator[Event]:
    yield Event(content=said("one moment"))
    yield Event(content=said(f"{message.text}!"))


def gives_coroutine(message: Content, session: Session) -> Any:
    return async_function(message, session)


def gives_async_generator(message: Content, session: Session) -> Any:
    return async_generator(message, session)


class Object:
    def __call__(self, message: Content, session: Session) -> Event:
        return Event(content=said(f"{message.text}!"))

    def method(self, message: Content, session: Session) -> str:
        return f"{message.text}!"


class AsyncObject:
    async def __call__(self, message: Content, session: Session) -> str:
        return f"{message.text}!"


class AsyncGeneratorObject:
    async def __call__(self, message: Content, session: Session) -> AsyncIterator[str]:
        yield "one moment"
        yield f"{message.text}!"


CALLABLES = {
    "function": function,
    "async function": async_function,
    "generator": generator,
    "async generator": async_generator,
    "function that gives a coroutine": gives_coroutine,
    "function that gives an async generator": gives_async_generator,
    "object": Object(),
    "method": Object().method,
    "async object": AsyncObject(),
    "async generator object": AsyncGeneratorObject(),
    "lambda": lambda message, session: f"{message.text}!",
}


@pytest.mark.parametrize("target", CALLABLES.values(), ids=CALLABLES.keys())
def test_callable_of_any_kind_answers(target: Callable[..., Any]) -> None:
    assert answer(one_turn(target)) == "hi!"


@pytest.mark.parametrize("target", [generator, async_generator, AsyncGeneratorObject()])
def test_what_is_said_before_the_last_content_is_kept_as_a_step(target: Callable[..., Any]) -> None:
    assert steps(one_turn(target)) == [("bot", "one moment")]


def test_thoughts_are_no_answer() -> None:
    def target(message: Content, session: Session) -> Iterator[Content]:
        yield said("It is Paris.")
        yield said("Did I say it right?", thought=True)

    assert answer(one_turn(target)) == "It is Paris."


def test_message_text_joins_the_parts_that_are_no_thoughts() -> None:
    message = Content(parts=[Part(text="a"), Part(text="hm", thought=True), Part(text="b")])

    assert message.text == "a\nb"


def test_nothing_said_is_no_answer() -> None:
    assert one_turn(lambda message, session: None).final_response is None


@pytest.mark.parametrize("output", [42, ["a", "b"], {"text": "a"}, b"a"], ids=str)
def test_output_of_another_type_is_an_error(output: object) -> None:
    with pytest.raises(TypeError, match=f"not {type(output).__name__}"):
        one_turn(lambda message, session: output)


def look_up(order_id: str) -> dict[str, Any]:
    return {"order_id": order_id, "status": "sent"}


async def count(items: list[str]) -> int:
    return len(items)


def count_now(items: list[str]) -> int:
    return len(items)


def break_down() -> None:
    raise ValueError("out of order")


async def async_desk(message: Content, session: Session) -> str:
    found = await session.call_tool(look_up, order_id="A1")
    number = await session.call_tool(count, items=["x", "y"])
    try:
        await session.call_tool(break_down)
    except ValueError as error:
        return f"{found['status']}, {number} items, {error}"
    return "nothing broke"


def sync_desk(message: Content, session: Session) -> str:
    found = session.call_tool_sync(look_up, order_id="A1")
    number = session.call_tool_sync(count_now, items=["x", "y"])
    try:
        session.call_tool_sync(break_down)
    except ValueError as error:
        return f"{found['status']}, {number} items, {error}"
    return "nothing broke"


@pytest.mark.parametrize(
    ("target", "counter"), [(async_desk, "count"), (sync_desk, "count_now")], ids=["async", "sync"]
)
def test_tool_calls_are_recorded_in_order_with_their_results(
    target: Callable[..., Any], counter: str
) -> None:
    invocation = one_turn(target)

    assert answer(invocation) == "sent, 2 items, out of order"
    calls = get_all_tool_calls_with_responses(invocation.intermediate_data)
    assert [(call.name, call.args) for call, _ in calls] == [
        ("look_up", {"order_id": "A1"}),
        (counter, {"items": ["x", "y"]}),
        ("break_down", {}),
    ]
    assert [response and response.response for _, response in calls] == [
        {"order_id": "A1", "status": "sent"},
        {"result": 2},
        {"error": "ValueError: out of order"},
    ]
    assert len({call.id for call, _ in calls}) == 3
    assert invocation.tool_duration is not None
    assert invocation.tool_duration >= 0


def test_time_in_tools_is_not_known_of_a_turn_without_any() -> None:
    assert one_turn(function).tool_duration is None


def test_sub_agents_calls_and_words_carry_its_name() -> None:
    async def target(message: Content, session: Session) -> AsyncIterator[str | Event]:
        await session.call_tool(look_up, order_id="A0")
        await session.sub_agent("scout").call_tool(look_up, order_id="A1")
        yield Event(author="scout", content=said("Found it."))
        yield "Your order was sent."

    invocation = one_turn(target)

    assert steps(invocation) == [
        ("bot", "call look_up"),
        ("bot", "result look_up"),
        ("scout", "call look_up"),
        ("scout", "result look_up"),
        ("scout", "Found it."),
    ]
    assert answer(invocation) == "Your order was sent."


def test_state_is_kept_over_the_turns_of_a_run_and_no_longer() -> None:
    def target(message: Content, session: Session) -> str:
        session.state["seen"] = [*session.state["seen"], message.text]
        return " ".join(session.state["seen"])

    async def twice() -> list[list[Invocation]]:
        agent = made_of(target)
        return [await converse(agent, "a", "b", seen=["start"]) for _ in range(2)]

    first, second = asyncio.run(twice())

    assert [answer(turn) for turn in first] == ["start a", "start a b"]
    assert [answer(turn) for turn in second] == ["start a", "start a b"]


def test_history_is_the_earlier_turns() -> None:
    async def target(message: Content, session: Session) -> str:
        await session.call_tool(look_up, order_id="A1")
        return "; ".join(f"{turn.user_content.text} -> {answer(turn)}" for turn in session.history) or "none"

    invocations = asyncio.run(converse(made_of(target), "a", "b", "c"))

    assert [answer(turn) for turn in invocations] == ["none", "a -> none", "a -> none; b -> a -> none"]


def test_session_tells_who_and_which_run_it_is() -> None:
    seen = []

    def target(message: Content, session: Session) -> str:
        seen.append((session.app_name, session.user_id, session.session_id, session.run_index, session.seed))
        return ""

    async def run() -> None:
        session = await made_of(target).open(request(run_index=3, seed=7))
        await session.send(Turn(Content(parts=[Part(text="hi")])))

    asyncio.run(run())

    assert seen == [("shop", "u1", "s1", 3, 7)]


def test_same_seed_draws_the_same_numbers() -> None:
    def draws(seed: int) -> list[float]:
        session = Session(request(seed=seed))
        return [session.random.random() for _ in range(3)]

    assert draws(7) == draws(7) != draws(8)


def test_blocking_agents_do_not_hold_up_each_other() -> None:
    together = threading.Barrier(3)

    def target(message: Content, session: Session) -> str:
        together.wait(timeout=30)  # only ends when three turns are under way at once
        return "met"

    async def at_once() -> list[list[Invocation]]:
        agent = made_of(target)
        return await asyncio.gather(*(converse(agent, "hi") for _ in range(3)))

    assert [answer(turns[0]) for turns in asyncio.run(at_once())] == ["met"] * 3


def test_blocking_tools_do_not_hold_up_each_other() -> None:
    together = threading.Barrier(3)

    def wait_for_the_others() -> None:
        together.wait(timeout=30)

    async def target(message: Content, session: Session) -> str:
        await asyncio.gather(*(session.call_tool(wait_for_the_others) for _ in range(3)))
        return "met"

    assert answer(one_turn(target)) == "met"


def test_agent_that_raises_leaves_what_it_did_in_the_turn() -> None:
    async def target(message: Content, session: Session) -> AsyncIterator[str]:
        await session.call_tool(look_up, order_id="A1")
        yield "so far"
        raise RuntimeError("lost")

    async def run() -> Turn:
        session = await made_of(target).open(request())
        turn = Turn(Content(parts=[Part(text="hi")]))
        with pytest.raises(RuntimeError, match="lost"):
            await session.send(turn)
        return turn

    invocation = asyncio.run(run()).invocation()

    assert answer(invocation) == "so far"
    assert steps(invocation) == [("bot", "call look_up"), ("bot", "result look_up")]


def test_instruction_and_tools_of_an_object_are_shown_to_judges() -> None:
    class Planner:
        instruction = "You plan trips."
        tools = [look_up]

        def __call__(self, message: Content, session: Session) -> str:
            return "planned"

    details = one_turn(Planner()).app_details

    assert details
    assert details.get_developer_instructions("bot") == "You plan trips."
    (tool,) = details.get_tools_by_agent_name()["bot"]
    assert (tool["name"], tool["parameters"]) == ("look_up", {"order_id": "str"})


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in the current folder."""
    monkeypatch.chdir(project.root)
    return project


def found(reference: str) -> Agent:
    return resolve_agent(reference, AgentOptions())


def asked(agent: Agent) -> str | None:
    return answer(asyncio.run(converse(agent, "hi"))[0])


@pytest.mark.parametrize(
    ("path", "reference"),
    [
        pytest.param("bot/agent.py", "bot", id="agent.py of a folder"),
        pytest.param("bot/__init__.py", "bot/", id="__init__.py of a folder"),
        pytest.param("bot.py", "bot.py", id="file"),
        pytest.param("some/where/bot/agent.py", "some/where/bot", id="folder elsewhere"),
    ],
)
@pytest.mark.parametrize("name", ["root_agent", "agent"])
def test_agent_is_found_in(here: Project, path: str, reference: str, name: str) -> None:
    here.write(path, ECHO.replace("root_agent", name))

    agent = found(reference)

    assert agent.name == "bot"
    assert asked(agent) == "hi"


def test_root_agent_comes_before_agent(here: Project) -> None:
    here.write("bot.py", ECHO + "\n\ndef agent(message, session):\n    return 'the other'\n")

    assert asked(found("bot.py")) == "hi"


@pytest.mark.parametrize("keyword", ["async def", "def"])
def test_factory_makes_a_fresh_agent_for_each_run(here: Project, keyword: str) -> None:
    here.write(
        "bot.py",
        f"""\
        class Counter:
            asked = 0

            def __call__(self, message, session):
                self.asked += 1
                return str(self.asked)


        {keyword} get_agent_async():
            return Counter()
        """,
    )
    agent = found("bot.py")

    async def two_runs() -> list[list[Invocation]]:
        return [await converse(agent, "a", "b") for _ in range(2)]

    assert [[answer(turn) for turn in run] for run in asyncio.run(two_runs())] == [["1", "2"], ["1", "2"]]


def test_attribute_of_an_importable_module(here: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    here.write("kitchen/__init__.py", "")
    here.write("kitchen/staff.py", "def cook(message, session):\n    return 'cooked'\n")
    monkeypatch.syspath_prepend(here.root)

    assert asked(found("kitchen.staff:cook")) == "cooked"
    with pytest.raises(AgentError, match="has no `waiter`"):
        found("kitchen.staff:waiter")


def test_relative_imports_of_a_package_work(here: Project) -> None:
    here.write("bot/__init__.py", "from . import agent\n")
    here.write("bot/words.py", "GREETING = 'hello'\n")
    here.write(
        "bot/agent.py",
        """\
        from .words import GREETING


        def root_agent(message, session):
            return GREETING
        """,
    )

    assert asked(found("bot")) == "hello"


def test_two_packages_may_both_hold_agent_py(here: Project) -> None:
    for name in ("north", "south"):
        here.agent(f"def root_agent(message, session):\n    return {name!r}\n", name)

    agents = [found("north"), found("south")]

    assert [asked(agent) for agent in agents] == ["north", "south"]


def test_packages_of_one_name_in_different_folders_are_kept_apart(here: Project) -> None:
    for folder in ("old", "new"):
        here.write(f"{folder}/shop/words.py", f"WHO = {folder!r}\n")
        here.agent("from .words import WHO\n\n\ndef root_agent(m, s):\n    return WHO\n", f"{folder}/shop")

    agents = [found("old/shop"), found("new/shop"), found("old/shop")]

    assert [asked(agent) for agent in agents] == ["old", "new", "old"]


SECRET = "import os\n\nKEY = os.environ.get('SHOP_KEY', 'none')\n\n\ndef root_agent(m, s):\n    return KEY\n"
"""An agent that reads its key as it is imported."""


def test_env_file_nearest_to_the_agent_is_loaded(here: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOP_KEY", raising=False)
    monkeypatch.delenv("SHOP_OTHER", raising=False)
    here.agent(SECRET, "agents/shop")
    here.write(".env", "SHOP_KEY=far\nSHOP_OTHER=far\n")
    here.write("agents/.env", "SHOP_KEY=near\n")

    assert asked(found("agents/shop")) == "near"
    assert "SHOP_OTHER" not in os.environ


def test_env_file_does_not_override_the_environment(here: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", "given")
    here.agent(SECRET, "shop")
    here.write("shop/.env", "SHOP_KEY=file\n")

    assert asked(found("shop")) == "given"
