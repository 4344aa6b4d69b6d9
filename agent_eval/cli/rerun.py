"""`run --rerun`: what of an earlier result is made again, and what the rest is taken from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agent_eval.errors import InputError, Problem

if TYPE_CHECKING:
    from agent_eval.options import Options
    from agent_eval.selection import Given


def again(rerun: tuple[str, str], options: Options) -> tuple[Options, Given]:
    """The options under which the result was made, where no others are given, and the result.

    Raises:
        InputError: it has no journal, or the options cannot go with it.
    """
    from agent_eval.options import ALL_CASES
    from agent_eval.references import resolved
    from agent_eval.reruns import Again, Earlier
    from agent_eval.selection import Given

    which, name = rerun
    if which not in list(Again):
        raise InputError(Problem(f"--rerun takes {' or '.join(Again)}, and then a result; not `{which}`"))
    if options.eval_sets or options.all or options.choice != ALL_CASES:
        raise InputError(Problem("--rerun says itself which cases run: name no eval set and no case"))
    if options.shard:
        raise InputError(Problem("--rerun and --shard do not go together: name the shard's result"))
    found = resolved(name, folder=options.output)
    if len(found) > 1:
        names = ", ".join(str(one.path) for one in found)
        raise InputError(Problem(f"`{name}` is {len(found)} results: {names}", hint="name one of them"))
    (stored,) = found
    result = stored.result
    if stored.journal is None or stored.path == stored.journal:
        raise InputError(
            Problem("has not both a summary and a journal, so nothing can be joined with it", name)
        )
    if result.agent.kind == "http" and not options.url:
        raise InputError(Problem(f"was served at {result.agent.reference}: name it with --url again", name))
    several = ", " in result.agent.reference
    must_name = options.url or several or not options.custom_code
    options = replace(
        options,
        eval_sets=(result.eval_set.path,),
        agent=options.agent or (None if must_name else result.agent.reference),
        config=options.config or result.config.path,
        num_runs=options.num_runs or result.config.multi_run_config.get("num_runs"),
    )
    return options, Given(earlier=Earlier(result, stored.journal, Again(which)))
