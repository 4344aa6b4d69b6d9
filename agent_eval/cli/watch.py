"""`run --watch`: each change of an agent, an eval set or a config runs the cases that it touches.

Every evaluation is a process of its own, so that the agent's code is read anew.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent_eval.errors import AgentEvalError, ExitCode

if TYPE_CHECKING:
    from agent_eval.cli.output import Output
    from agent_eval.options import Options
    from agent_eval.selection import ReadSet

LOOK_SECONDS = 0.3
"""Between looks at the files. A change is acted on when the next look finds no further one."""

Stamp = tuple[int, int]


@dataclass(slots=True)
class Watched:
    """What the evaluation depends on, as it is at one moment."""

    cases: dict[tuple[str, str], str] = field(default_factory=dict)
    """File and id of each case -> its digest."""
    configs: dict[str, Stamp] = field(default_factory=dict)
    """Eval set file -> the config that is found for it."""
    code: dict[Path, Stamp] = field(default_factory=dict)
    """Files of agents, and of metrics beside the eval sets."""
    problem: str | None = None
    """Why eval sets cannot be read just now."""

    def touched(self, before: Watched) -> set[tuple[str, str]]:
        """File and id of the cases to run again after what was before."""
        if self.code != before.code or before.problem:
            return set(self.cases)
        return {
            key
            for key, digest in self.cases.items()
            if before.cases.get(key) != digest or before.configs.get(key[0]) != self.configs.get(key[0])
        }


def look(options: Options) -> Watched:
    """What there is now."""
    from agent_eval.agents.sources import source_files
    from agent_eval.inputs.choice import fitting
    from agent_eval.inputs.discovery import find_agent, selected_eval_sets
    from agent_eval.inputs.evalsets import case_sha256
    from agent_eval.inputs.project import find_project
    from agent_eval.selection import names_of, read_set

    seen = Watched()
    try:
        project = find_project()
        selectors = selected_eval_sets(options.eval_sets, options.agent, project, every=options.all)
        for selector in selectors:
            read = read_set(selector, options.config)
            file = str(read.loaded.path)
            cases = fitting(read.cases, names_of(read), options.choice)
            seen.cases |= {(file, case.eval_id): case_sha256(case) for case in cases}
            seen.configs[file] = _stamp(read.config.path) if read.config.path else (0, 0)
            agents = {
                find_agent(case, options.agent or options.url, project).reference for case in read.cases
            }
            for reference in (*agents, *_beside(read)):
                seen.code |= {path: _stamp(path) for path in source_files(reference)}
    except AgentEvalError as error:
        seen.problem = str(error)
    return seen


def _beside(read: ReadSet) -> Iterator[str]:
    """Modules of metrics beside the files that name them."""
    for path in (read.loaded.path, read.config.path):
        if path:
            yield from (str(module) for module in path.parent.glob("*.py"))


def _stamp(path: Path) -> Stamp:
    try:
        stat = path.stat()
    except OSError:
        return (0, 0)
    return (stat.st_mtime_ns, stat.st_size)


def keep_running(options: Options, arguments: Sequence[str], out: Output) -> ExitCode:
    """Runs the evaluation, and again what each change touches, until it is interrupted."""
    command = [sys.executable, "-m", "agent_eval", *(one for one in arguments if one != "--watch")]
    seen = look(options)
    _run(command)
    while True:
        seen, touched = _next_change(options, seen, out)
        if not touched:
            continue
        everything = touched == set(seen.cases) or bool(options.choice.case_ids)
        chosen = [] if everything else [word for key in sorted(touched) for word in ("--case", key[1])]
        names = "all cases" if everything else ", ".join(sorted({eval_id for _, eval_id in touched}))
        out.note(f"\nchanged: running {names}")
        _run([*command, *chosen])


def _next_change(options: Options, before: Watched, out: Output) -> tuple[Watched, set[tuple[str, str]]]:
    """Waits for a change, and until it is over."""
    pause = threading.Event()
    out.note("watching; Ctrl+C ends it")
    now = before
    while now == before:
        pause.wait(LOOK_SECONDS)
        now = look(options)
    while True:
        pause.wait(LOOK_SECONDS)
        later = look(options)
        if later == now:
            break
        now = later
    if now.problem:
        out.note(f"error: {now.problem}")
        return now, set()
    return now, now.touched(before)


def _run(command: Sequence[str]) -> None:
    """One evaluation to its end; what came out is on the screen."""
    sys.stdout.flush()
    safe = {**os.environ, "PYTHONSAFEPATH": "1"}  # like the console script: no module of the folder is ours
    subprocess.run(command, env=safe, check=False)
