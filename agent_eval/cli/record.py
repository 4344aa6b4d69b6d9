"""`agent-eval record`: a conversation in the terminal becomes an eval case."""

from __future__ import annotations

import asyncio
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_eval.cli.completion import complete_targets
from agent_eval.cli.options import DebugFlag
from agent_eval.cli.output import Output
from agent_eval.errors import ExitCode, InputError, Problem

if TYPE_CHECKING:
    from agent_eval.agents.base import Agent
    from agent_eval.engine.run import Conversation
    from agent_eval.schema.result import ErrorInfo
    from agent_eval.schema.trace import Content, Invocation

EPILOG = """Examples:

agent-eval record my_agent orders.evalset.json

agent-eval record my_agent orders.evalset.json --case refund --yes < messages.txt

Say one message a line; an empty line or Ctrl+D ends the conversation. Nothing is written before you have
seen it and said yes."""


def record(
    agent: Annotated[
        str,
        typer.Argument(
            help="A folder, a .py file, package.module:attribute.", autocompletion=complete_targets
        ),
    ],
    eval_set: Annotated[
        str | None,
        typer.Argument(
            metavar="[EVALSET]",
            help="The file to add the case to, or to make. Without: evalsets/<agent>.evalset.json.",
            show_default=False,
        ),
    ] = None,
    case: Annotated[str | None, typer.Option("--case", help="The case's id; asked for if not given.")] = None,
    env_file: Annotated[
        str | None, typer.Option("--env_file", help="Environment for the agent; what is set already wins.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
    debug: DebugFlag = False,
) -> None:
    """Talk to an agent, and keep the conversation as an eval case."""
    with Output(debug=debug) as out:
        from agent_eval import serde
        from agent_eval.agents.environment import load_env_file
        from agent_eval.agents.resolve import NO_OPTIONS, resolve_agent
        from agent_eval.recording import added_to, recorded_case, write_eval_set
        from agent_eval.report.text import printable

        if env_file:
            load_env_file(Path(env_file))
        found = resolve_agent(agent, NO_OPTIONS)
        path = Path(eval_set) if eval_set else Path("evalsets") / f"{found.name}.evalset.json"
        if case:
            added_to(path, recorded_case(case, found.name, "user", []))  # told now rather than after the talk
        with chdir(Path.cwd()):
            talked, error = asyncio.run(_talk(found, out))
        if error:
            out.note(f"the agent raised {error.type}: {error.message}; the case has the turns before that")
        turns = talked.scored_turns[:-1] if error else talked.scored_turns
        if not turns:
            raise InputError(Problem("nothing was said, so there is nothing to keep"))
        eval_id = case or _asked("Name of the case", f"case_{_next_number(path)}", out)
        new = recorded_case(eval_id, found.name, talked.request.user_id, turns)
        data = added_to(path, new)
        out.report.print(printable(serde.to_json(new, indent=True).decode()), soft_wrap=True)
        if not yes and _asked(f"Write this to {path}? [y/n]", "n", out).lower() not in ("y", "yes"):
            out.note("nothing was written")
            out.exit(ExitCode.PASSED)
        write_eval_set(data, path)
        out.note(f"written to {path}; try it:\n  agent-eval run {agent} {path} --case {eval_id}")
        out.exit(ExitCode.PASSED)


async def _talk(agent: Agent, out: Output) -> tuple[Conversation, ErrorInfo | None]:
    from agent_eval.recording import converse

    with redirect_stdout(sys.stderr):  # what the agent prints is no part of the conversation
        return await converse(agent, Terminal(out))


def _asked(question: str, default: str, out: Output) -> str:
    """An answer from the terminal; the default where nobody answers."""
    out.stderr.print(f"{question} ({default}): ", end="", markup=False)
    return sys.stdin.readline().strip() or default


def _next_number(path: Path) -> int:
    if not path.exists():
        return 1
    from agent_eval.inputs.evalsets import load_eval_set

    taken = {case.eval_id for case in load_eval_set(path).eval_set.eval_cases}
    return next(number for number in range(1, len(taken) + 2) if f"case_{number}" not in taken)


class Terminal:
    """The user at the keyboard."""

    usage = None
    stopped_by = None

    def __init__(self, out: Output) -> None:
        self._out = out

    async def next_message(self, history: list[Invocation]) -> Content | None:
        """Shows what the agent did, and asks for the next message."""
        from agent_eval.schema.trace import Content, Part
        from agent_eval.threads import in_thread

        if history:
            self._show(history[-1])
        self._out.stderr.print("you> ", style="bold", end="")
        line = str(await in_thread(sys.stdin.readline)).strip()
        return Content(role="user", parts=[Part(text=line)]) if line else None

    def _show(self, turn: Invocation) -> None:
        from agent_eval.report.text import call_text, content_text, printable
        from agent_eval.schema.trace import get_all_tool_calls

        for call in get_all_tool_calls(turn.intermediate_data):
            self._out.stderr.print(f"  call {printable(call_text(call))}", style="dim", soft_wrap=True)
        answer = printable(content_text(turn.final_response)) or "(no answer)"
        self._out.stderr.print(f"agent> {answer}")
