"""Runs against an endpoint that bears so many calls at once: too few of them, too many, and `auto`."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from measure import Command, arguments, interleaved, print_table, print_target, script

CASES = 300
CAPACITY = 16
SECONDS = 0.5
"""That a call takes while there is room."""
PARALLELISM = ("4", "16", "64", "auto")

_AGENT = """\
import asyncio
import os


class RateLimited(Exception):
    status_code = 429


async def root_agent(message, session):
    reader, writer = await asyncio.open_connection("127.0.0.1", int(os.environ["BENCHMARK_PORT"]))
    try:
        writer.write(message.text.encode() + b"\\n")
        answer = (await reader.readline()).decode().strip()
    finally:
        writer.close()
    if answer == "429":
        raise RateLimited("too many calls at once")
    return answer
"""


@dataclass
class Endpoint:
    """Says what it is told, after a while; beyond its capacity it refuses, or lets callers wait."""

    queues: bool
    refused: int = 0
    most: int = 0
    port: int = 0
    _under_way: int = 0
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CAPACITY))

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        text = await reader.readline()
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        if self._under_way > CAPACITY and not self.queues:
            self.refused += 1
            text = b"429\n"
        else:
            async with self._places:
                await asyncio.sleep(SECONDS)
        self._under_way -= 1
        writer.write(text)
        writer.close()

    def start_again(self) -> tuple[int, int]:
        """What was counted so far, refusals and most at once; from now on it is counted anew."""
        counted = self.refused, self.most
        self.refused = self.most = 0
        return counted


@contextmanager
def serving(endpoint: Endpoint) -> Iterator[None]:
    """The endpoint in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(
        asyncio.start_server(endpoint.answer, "127.0.0.1", 0, backlog=512), loop
    ).result()
    endpoint.port = server.sockets[0].getsockname()[1]
    try:
        yield
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def command(folder: Path, endpoint: Endpoint, parallelism: str) -> Command:
    argv = [script(sys.executable, "agent-eval"), "run", "bot.py", "set.json", "--config=config.json"]
    return Command(
        parallelism,
        [*argv, f"--parallelism={parallelism}", "--output=results", "--no_circuit_breaker"],
        folder,
        {"BENCHMARK_PORT": str(endpoint.port)},
    )


def prepare(folder: Path) -> None:
    def content(text: str) -> dict[str, object]:
        return {"parts": [{"text": text}]}

    def case(number: int) -> dict[str, object]:
        said = content(f"say {number}")
        return {"eval_id": f"case{number}", "conversation": [{"user_content": said, "final_response": said}]}

    cases = [case(number) for number in range(CASES)]
    (folder / "bot.py").write_text(_AGENT)
    (folder / "set.json").write_text(json.dumps({"eval_set_id": "load", "eval_cases": cases}))
    (folder / "config.json").write_text(json.dumps({"criteria": {"response_match_score": 1.0}}))


def measured(folder: Path, endpoint: Endpoint, rounds: int) -> dict[str, float]:
    """Prints what each parallelism did; its seconds. A run that crashed ends the benchmark."""
    rows, seconds = [], {}
    with serving(endpoint):
        for parallelism in PARALLELISM:
            samples = interleaved([command(folder, endpoint, parallelism)], rounds)[parallelism]
            refused, most = endpoint.start_again()
            took = seconds[parallelism] = samples.median
            each = refused / (rounds + 1)  # the warm-up is counted too
            rows.append([parallelism, f"{took:.1f}", f"{CASES / took:.0f}", f"{each:.0f}", str(most)])
    print_table(["runs at once", "seconds", "runs a second", "429s", "most at once"], rows)
    return seconds


def main() -> None:
    options = arguments(__doc__, rounds=3).parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        print(f"{CASES} runs of {SECONDS:g} s; beyond {CAPACITY} at once the endpoint refuses (429):\n")
        refusing = measured(folder, Endpoint(queues=False), options.rounds)
        print(f"The same; beyond {CAPACITY} at once the endpoint lets callers wait:\n")
        queueing = measured(folder, Endpoint(queues=True), options.rounds)
    print_target("auto / the right number, where it refuses", refusing["auto"] / refusing["16"], 2.0)
    print_target("auto / the right number, where it lets wait", queueing["auto"] / queueing["16"], 1.5)


if __name__ == "__main__":
    main()
