"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

JsonFlag = Annotated[
    bool, typer.Option("--json", help="One JSON document on stdout, everything else on stderr.")
]
DebugFlag = Annotated[bool, typer.Option("--debug", help="Show the traceback of a bug in agent-eval.")]
DetailsFlag = Annotated[bool, typer.Option("--print_detailed_results", help="Show every turn of every run.")]
