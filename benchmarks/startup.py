"""How long it takes to start: whole processes, against the import of `google.genai.types`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from measure import Command, adk_python, arguments, interleaved, print_samples, print_target, script
from workload import Workload

BASELINE = "import google.genai.types"
HELP = "agent-eval --help"
ONE_CASE = "agent-eval run, one case"

_BARE_PROGRAM = '''\
import orjson, pydantic, rich.console, typer

app = typer.Typer()


class Options(pydantic.BaseModel):
    name: str


@app.command()
def main(name: str = "world") -> None:
    """Greets."""
    rich.console.Console().print(orjson.dumps(Options(name=name).model_dump()))


app()
'''


def compare(work: Workload) -> list[str]:
    """`agent-eval compare` of two results, which are made here."""
    for _ in range(2):
        subprocess.run(work.agent_eval(1), cwd=work.folder, capture_output=True, check=True)
    return [script(sys.executable, "agent-eval"), "compare", *map(str, work.summaries(1))]


def main() -> None:
    options = arguments(__doc__, rounds=11).parse_args()
    adk = adk_python(options.adk)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = Workload(folder)
        bare = folder / "bare.py"
        bare.write_text(_BARE_PROGRAM)
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "bare typer + rich + pydantic + orjson --help": [sys.executable, str(bare), "--help"],
            BASELINE: [sys.executable, "-c", "import google.genai.types"],
            HELP: [script(sys.executable, "agent-eval"), "--help"],
            "agent-eval compare, two one-case results": compare(work),
            ONE_CASE: work.agent_eval(1),
        }
        if adk:
            commands["adk eval, the same case"] = work.adk_eval(adk, 1)
        measured = [Command(what, argv, folder) for what, argv in commands.items()]
        samples = interleaved(measured, options.rounds)
        work.result_bytes(1)
        if adk:
            work.adk_result_bytes(1)
    print_samples(samples, BASELINE)
    unit = samples[BASELINE].median
    print_target(f"{HELP} / {BASELINE}", samples[HELP].median / unit, 0.6)
    print_target(f"{ONE_CASE} / {BASELINE}", samples[ONE_CASE].median / unit, 0.8)


if __name__ == "__main__":
    main()
