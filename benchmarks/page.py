"""How large the HTML page of a result is, how long it takes to write, and how soon Chromium opens it.

The results are of real runs, five of each case. A page is open when all its rows are there and painted.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from measure import Command, arguments, interleaved, print_table, print_target
from workload import Workload

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the browser of the tests
from tests.browser import CHROMIUM, Tab, browsing

CASES = (1, 100, 500, 2000)
NUM_RUNS = 5
SECONDS = 2.0


def opened(tab: Tab, file: Path) -> float:
    """Seconds from the request on; what is asked for is looked at every 20 ms."""
    tab.send("Page.navigate", url="about:blank")
    tab.open(file)
    tab.wait("performance.getEntriesByName('first-contentful-paint').length")
    return float(tab.evaluate("performance.now()")) / 1000


def main() -> None:
    options = arguments(__doc__, rounds=5).parse_args()
    if CHROMIUM is None:
        raise SystemExit("there is no Chromium")
    with tempfile.TemporaryDirectory() as name, browsing() as tab:
        work = Workload(Path(name))
        pages = {cases: Path(name) / f"page_{cases}.html" for cases in CASES}
        commands = []
        for cases, page in pages.items():
            subprocess.run(
                work.agent_eval(cases, num_runs=NUM_RUNS), cwd=name, check=True, capture_output=True
            )
            summary = str(work.summaries(cases, NUM_RUNS)[-1])
            report = [sys.executable, "-m", "agent_eval", "report", summary, "--html", str(page)]
            commands.append(Command(str(cases), report, Path(name)))
        written = interleaved(commands, options.rounds)
        seconds = {
            cases: median(opened(tab, page) for _ in range(options.rounds)) for cases, page in pages.items()
        }
        sizes = {cases: page.stat().st_size / 1e6 for cases, page in pages.items()}
    rows = [
        [
            str(cases),
            str(cases * NUM_RUNS),
            f"{sizes[cases]:.2f}",
            f"{written[str(cases)].median:.2f}",
            f"{seconds[cases]:.2f}",
        ]
        for cases in CASES
    ]
    print_table(["cases", "runs", "MB", "s to write", "s to open"], rows)
    print_target(f"a page of {CASES[-1]} cases is open", seconds[CASES[-1]], SECONDS, " s")


if __name__ == "__main__":
    main()
