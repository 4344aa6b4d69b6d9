"""`agent-eval scenario`: cases that a simulated user plays, from a file or written by a model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_eval.cli.options import DebugFlag, JsonFlag
from agent_eval.cli.output import Output
from agent_eval.errors import ExitCode, InputError, Problem

if TYPE_CHECKING:
    from agent_eval.scenarios import Written

ADD_EPILOG = """Examples:

agent-eval scenario add orders.evalset.json --scenarios_file scenarios.json

agent-eval scenario add my_agent orders --scenarios_file scenarios.json --session_input_file session.json

The file is {"scenarios": [{"starting_prompt": "...", "conversation_plan": "...", "user_persona": "NOVICE"}]}.
A scenario has the same id each time, and what the eval set has already is left as it is."""

GENERATE_EPILOG = """Examples:

agent-eval scenario generate my_agent orders.evalset.json --count 10

agent-eval scenario generate my_agent orders.evalset.json --instruction "Customers who want a refund" """

Targets = Annotated[
    list[str],
    typer.Argument(
        metavar="[AGENT] EVALSET",
        help="An eval set's .json (a new one is made), or an agent's folder and the id of a set in it.",
    ),
]
SessionOption = Annotated[
    str | None,
    typer.Option("--session_input_file", help="JSON with the session_input of the cases, else a plain one."),
]


def add(
    targets: Targets,
    scenarios_file: Annotated[str, typer.Option("--scenarios_file", help="JSON with the scenarios.")],
    session_input_file: SessionOption = None,
    json_output: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Add the scenarios of a file to an eval set."""
    with Output(json=json_output, debug=debug) as out:
        from agent_eval.scenarios import add_scenarios, eval_set_path, session_of

        if len(targets) > 2:
            raise InputError(Problem("too many arguments", hint="name at most an agent and an eval set"))
        agent = targets[0] if len(targets) == 2 else None
        session = session_of(session_input_file, Path(agent).resolve().stem if agent else None)
        path = eval_set_path(targets[-1], agent)
        _tell(add_scenarios(path, Path(scenarios_file), session), out)


def generate(
    agent: Annotated[
        str, typer.Argument(metavar="AGENT", help="A folder, a .py file, or package.module:attribute.")
    ],
    eval_set: Annotated[
        str,
        typer.Argument(
            metavar="EVALSET", help="An eval set's .json, or the id of one in the agent's folder."
        ),
    ],
    count: Annotated[int, typer.Option("--count", min=1, help="How many scenarios.")] = 5,
    model: Annotated[str, typer.Option("--model", help="The model that writes them.")] = "gemini-2.5-flash",
    instruction: Annotated[
        str | None, typer.Option("--instruction", help="What they should be about.")
    ] = None,
    environment_context: Annotated[
        str | None,
        typer.Option("--environment_context", help="What there is for the agent's tools to find."),
    ] = None,
    session_input_file: SessionOption = None,
    env_file: Annotated[
        str | None, typer.Option("--env_file", help="Keys of the model; what is set already wins.")
    ] = None,
    json_output: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Have a model write scenarios from the agent's instructions and tools, and add them to an eval set."""
    with Output(json=json_output, debug=debug) as out:
        from agent_eval.agents.environment import load_env_file
        from agent_eval.scenarios import eval_set_path, generate_scenarios
        from agent_eval.simulation.generation import Wish

        if env_file:
            load_env_file(Path(env_file))
        wish = Wish(count, instruction, environment_context)
        path = eval_set_path(eval_set, agent)
        _tell(asyncio.run(generate_scenarios(agent, path, model, wish, session_input_file)), out)


def _tell(written: Written, out: Output) -> None:
    """What is new in the eval set, and what was there already."""
    from agent_eval.report.console import print_line
    from agent_eval.report.text import count

    added = {case.eval_id: case.conversation_scenario for case in written.added}
    if out.is_json:
        out.json({"path": str(written.path), "added": list(added), "known": written.known})
    else:
        print_line(out.report, f"{written.path}: {count(len(added), 'case')} added")
        for eval_id, scenario in added.items():
            prompt = scenario.starting_prompt if scenario else ""
            print_line(out.report, f"  {eval_id}  {' '.join(prompt.split())}")
        for eval_id in written.known:
            print_line(out.report, f"  {eval_id}  was there already")
    out.exit(ExitCode.PASSED)
