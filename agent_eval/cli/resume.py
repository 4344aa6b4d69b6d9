"""`run --resume`: what an evaluation that was broken off still has to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_eval.errors import InputError, Problem

if TYPE_CHECKING:
    from typer import Context

    from agent_eval.options import Options
    from agent_eval.selection import Given

FREE = {
    "targets", "resume", "resume_anyway", "parallelism", "rpm", "tpm", "workers", "executor", "ray_address",
    "url", "header", "judge_parallelism", "max_judge_calls", "judge_cache", "no_preflight", "no_custom_code",
    "output", "adk_results", "html", "junit_xml", "markdown", "codequality", "print_detailed_results",
    "quiet", "json_output", "debug",
}  # fmt: skip
"""The options that may be given anew; the others are those that the evaluation began with."""


def going_on(context: Context, names: list[str], options: Options, *, anyway: bool) -> tuple[Options, Given]:
    """The options that the evaluation began with, and what it has done.

    Raises:
        InputError: there is none, or options are given that it began with others of.
    """
    from agent_eval.resumption import resumed
    from agent_eval.selection import Given

    given = [name for name in context.params if name not in FREE and _is_given(context, name)]
    if given:
        told = ", ".join(f"--{name}" for name in given)
        raise InputError(Problem(f"--resume goes on with the options of before: leave out {told}"))
    if len(names) > 1:
        raise InputError(Problem("--resume takes one result; without one, it is the newest unfinished"))
    options, found = resumed(names[0] if names else None, options, anyway=anyway)
    return options, Given(resumed=found)


def _is_given(context: Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"
