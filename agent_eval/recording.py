"""Conversations that took place -> eval cases, and their place in eval set files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent_eval import serde
from agent_eval.agents.base import Agent
from agent_eval.agents.events import to_invocations
from agent_eval.engine.run import Conversation, play
from agent_eval.errors import InputError, Problem
from agent_eval.inputs import documents
from agent_eval.inputs.evalsets import eval_set_id_of, parse_eval_set
from agent_eval.plan import RunSpec
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import ErrorInfo
from agent_eval.schema.trace import Content, Event, Invocation, get_all_tool_calls
from agent_eval.simulation.base import Player
from agent_eval.store.journal import SUFFIX, read_journal
from agent_eval.store.summary import write_whole


async def converse(agent: Agent, player: Player) -> tuple[Conversation, ErrorInfo | None]:
    """Has a conversation that no case lays down, and tells what broke it off, if something did."""
    case = EvalCase.model_validate({"eval_id": "recorded", "conversation": []})
    spec = RunSpec(
        set_index=0,
        eval_set_id="recorded",
        case=case,
        config=EvalConfig(),
        agent=agent.name,
        run_index=0,
        seed=0,
        timeout=None,
    )
    played = await play(spec, agent, lambda: player)
    return played.conversation, played.error


def recorded_case(
    eval_id: str,
    app_name: str,
    user_id: str,
    turns: Sequence[Invocation],
    state: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The case that expects what happened: each turn's tool calls, in order, and its answer.

    Args:
        eval_id: of the case.
        app_name: the agent.
        user_id: the user.
        turns: what happened. A turn without an answer expects none.
        state: what the session started from.
    """
    session: dict[str, Any] = {"app_name": app_name, "user_id": user_id}
    if state:
        session["state"] = state
    return {
        "eval_id": eval_id,
        "conversation": [_turn(turn) for turn in turns],
        "session_input": session,
    }


def _turn(turn: Invocation) -> dict[str, Any]:
    calls = [
        {"name": call.name, "args": call.args or {}} for call in get_all_tool_calls(turn.intermediate_data)
    ]
    expected: dict[str, Any] = {"user_content": _content(turn.user_content)}
    if calls:
        expected["intermediate_data"] = {"tool_uses": calls}
    if turn.final_response:
        expected["final_response"] = _content(turn.final_response)
    return expected


def _content(content: Content) -> Any:
    """Without what a model thought on the way."""
    said = content.model_copy(update={"parts": [part for part in content.parts or [] if not part.thought]})
    return said.model_dump(mode="json", by_alias=False, exclude_none=True)


def added_to(path: Path, case: dict[str, Any]) -> bytes:
    """The content of an eval set file with a case more; of a new one, if there is none.

    Raises:
        InputError: the file is no eval set in the current schema, or has a case of this id.
    """
    eval_set_id = eval_set_id_of(path)
    document: Any = {"eval_set_id": eval_set_id, "eval_cases": []}
    if path.exists():
        document = documents.parse(documents.decode(documents.read_bytes(path), str(path)), str(path))
        key = "evalCases" if isinstance(document, dict) and "evalCases" in document else "eval_cases"
        if not isinstance(document, dict) or not isinstance(document.get(key), list):
            raise InputError(
                Problem(
                    "is in an old form, which no case is added to",
                    str(path),
                    hint="name a new file, or rewrite it: AgentEvaluator.migrate_eval_data_to_new_schema",
                )
            )
        document[key].append(case)
    else:
        document["eval_cases"].append(case)
    data = serde.to_json(document, indent=True) + b"\n"
    parse_eval_set(data, str(path), eval_set_id)
    return data


def write_eval_set(data: bytes, path: Path) -> None:
    """Writes an eval set file whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(data, path)


def cases_of_recording(path: Path) -> list[dict[str, Any]]:
    """The cases in a recording: a journal of agent-eval, or a session that ADK saved.

    Raises:
        InputError: it is neither.
    """
    if path.name.endswith(SUFFIX):
        return _of_journal(path)
    text = documents.decode(documents.read_bytes(path), str(path))
    document = documents.parse(text, str(path))
    if not isinstance(document, dict) or not isinstance(document.get("events"), list):
        raise InputError(
            Problem(
                "is no recording",
                str(path),
                hint=f"name a session that ADK saved (an object with `events`), or a journal (*{SUFFIX})",
            )
        )
    return [_of_session(document, path)]


def _of_journal(path: Path) -> list[dict[str, Any]]:
    cases: dict[str, dict[str, Any]] = {}
    try:
        for record in read_journal(path):
            if record.session and record.invocations and record.error is None:
                cases.setdefault(
                    record.eval_id,
                    recorded_case(
                        record.eval_id, record.session.app_name, record.session.user_id, record.invocations
                    ),
                )
    except ValueError as error:
        raise InputError(Problem(str(error).splitlines()[0])) from None
    except FileNotFoundError:
        raise InputError(Problem("no such file", str(path))) from None
    except OSError as error:
        raise InputError(Problem(f"cannot be read: {error.strerror}", str(path))) from None
    if not cases:
        raise InputError(Problem("holds no run that came to its end", str(path)))
    return list(cases.values())


def _of_session(document: dict[str, Any], path: Path) -> dict[str, Any]:
    """The case of a session that ADK saved. The state it started from is not in it."""
    try:
        events = [Event.model_validate(event, extra="ignore") for event in document["events"]]
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InputError(Problem(f"an event is damaged: {first['msg']}", str(path), "events")) from None
    turns = [turn for turn in to_invocations(events) if turn.user_content.parts]
    if not turns:
        raise InputError(Problem("nobody says anything in it", str(path), "events"))
    names = [str(document.get(camel) or document.get(snake) or "") for camel, snake in _SESSION_KEYS]
    return recorded_case(names[2] or path.stem, names[0], names[1], turns)


_SESSION_KEYS = (("appName", "app_name"), ("userId", "user_id"), ("id", "id"))
