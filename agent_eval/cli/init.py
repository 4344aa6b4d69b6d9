"""`agent-eval init`: a first eval set and config for an agent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_eval.cli.completion import complete_targets
from agent_eval.cli.options import DebugFlag
from agent_eval.cli.output import Output
from agent_eval.errors import ExitCode, InputError, Problem

if TYPE_CHECKING:
    from agent_eval.inputs.project import Project

EPILOG = """Examples:

agent-eval init

agent-eval init my_agent

agent-eval init my_agent --from session.json

A recording is a session that ADK saved, or a journal of agent-eval. Nothing is overwritten."""

QUESTION = "What can you do for me?"
ANSWER = "Write here what the agent should answer."


def init(
    agent: Annotated[
        str | None,
        typer.Argument(
            metavar="[AGENT]",
            help="A folder or a .py file. Without: the only agent that is found here.",
            show_default=False,
            autocompletion=complete_targets,
        ),
    ] = None,
    recording: Annotated[
        str | None, typer.Option("--from", metavar="FILE", help="A recorded conversation to begin with.")
    ] = None,
    debug: DebugFlag = False,
) -> None:
    """Write a first eval set and config for an agent that is found here."""
    with Output(debug=debug) as out:
        from agent_eval import serde
        from agent_eval.inputs.evalsets import parse_eval_set
        from agent_eval.inputs.project import find_project
        from agent_eval.recording import cases_of_recording, write_eval_set

        project = find_project()
        found = Path(agent) if agent else _only_agent(project)
        if not found.exists():
            raise InputError(Problem(f"there is no agent `{found}`", hint="name a folder or a .py file"))
        name = found.resolve().stem
        folder = _folder(project)
        eval_set, config = folder / f"{name}.evalset.json", folder / f"{name}.eval_config.json"
        for path in (eval_set, config):
            if path.exists():
                raise InputError(Problem("is there already, and nothing is overwritten", str(path)))
        cases = cases_of_recording(Path(recording)) if recording else [_example(name)]
        for case in cases:
            case["session_input"]["app_name"] = name
        data = serde.to_json({"eval_set_id": name, "eval_cases": cases}, indent=True) + b"\n"
        parse_eval_set(data, str(eval_set), name)
        write_eval_set(data, eval_set)
        write_eval_set(serde.to_json(CONFIG, indent=True) + b"\n", config)
        for line in _told(found, eval_set, config, recorded=bool(recording)):
            out.report.print(line, soft_wrap=line.startswith(" "))  # commands are copied
        out.exit(ExitCode.PASSED)


CONFIG: dict[str, Any] = {
    "criteria": {
        "tool_trajectory_avg_score": {"threshold": 1.0, "match_type": "IN_ORDER"},
        "response_match_score": 0.8,
    }
}


def _only_agent(project: Project) -> Path:
    from agent_eval.inputs.discovery import agents_of

    if project.settings.agent and (project.root / project.settings.agent).exists():
        return project.root / project.settings.agent
    found = agents_of(project)
    if len(found) == 1:
        return found[0]
    folders = ", ".join(project.settings.agents)
    if not found:
        raise InputError(Problem(f"no agent was found in {folders}", hint="name it: `agent-eval init AGENT`"))
    names = ", ".join(map(str, found[:10]))
    raise InputError(
        Problem(f"there are {len(found)} agents: {names}", hint="name one: `agent-eval init AGENT`")
    )


def _folder(project: Project) -> Path:
    """The project's folder for eval sets: the first that is there, else the first."""
    folders = [project.root / name for name in project.settings.evalsets]
    return next((folder for folder in folders if folder.is_dir()), folders[0])


def _example(name: str) -> dict[str, Any]:
    """A case to fill in; it fails until that is done."""
    return {
        "eval_id": "first_case",
        "conversation": [
            {
                "user_content": {"role": "user", "parts": [{"text": QUESTION}]},
                "intermediate_data": {"tool_uses": []},
                "final_response": {"role": "model", "parts": [{"text": ANSWER}]},
            }
        ],
        "session_input": {"app_name": name, "user_id": "user"},
    }


def _told(agent: Path, eval_set: Path, config: Path, *, recorded: bool) -> list[str]:
    next_step = (
        "Next, see whether it still does what was recorded:"
        if recorded
        else f"Next, write into {eval_set.name} what you expect, or record it:\n"
        f"  agent-eval record {agent} {eval_set}\nand then:"
    )
    next_step += f"\n  agent-eval run {agent} {eval_set}"
    return [f"wrote {eval_set}", f"wrote {config}", *next_step.splitlines()]
