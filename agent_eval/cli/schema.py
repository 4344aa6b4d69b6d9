"""`agent-eval schema`: JSON Schemas of the files, for editors."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from agent_eval.cli.options import DebugFlag
from agent_eval.cli.output import Output
from agent_eval.errors import ExitCode, InputError, Problem, did_you_mean

KINDS = ("evalset", "config", "result")

EPILOG = """Examples:

agent-eval schema evalset > evalset.schema.json

agent-eval schema config > config.schema.json

An eval set or config may begin with a "$schema" key that names the file."""


def schema(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="evalset|config|result",
            help="Of which file.",
            autocompletion=lambda: list(KINDS),
        ),
    ],
    debug: DebugFlag = False,
) -> None:
    """Print the JSON Schema of a file, so that an editor completes and checks it."""
    with Output(debug=debug) as out:
        if kind not in KINDS:
            raise InputError(
                Problem(f"there is no schema `{kind}`", hint=did_you_mean(kind, KINDS) or ", ".join(KINDS))
            )
        from agent_eval import serde
        from agent_eval.json_schemas import Kind, json_schema
        from agent_eval.metrics.registry import DEFAULT_REGISTRY

        registry = DEFAULT_REGISTRY.fork()
        registry.load_installed()
        sys.stdout.buffer.write(serde.to_json(json_schema(Kind(kind), registry), indent=True) + b"\n")
        out.exit(ExitCode.PASSED)
