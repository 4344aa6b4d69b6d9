"""Many bad inputs for one reader, and what came of them."""

from __future__ import annotations

import random
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agent_eval import clock
from agent_eval.errors import AgentEvalError
from tests.fuzz.mutations import Mutations
from tests.fuzz.readers import Reader

HANG_SECONDS = 10.0
"""Files of this size are read in less than a hundredth of it."""


class HungError(BaseException):
    """A reader did not come back."""


@dataclass(slots=True)
class Tally:
    """What came of the inputs of one reader."""

    accepted: int = 0
    refused: int = 0
    raised: int = 0
    """Something else than a refusal."""
    seconds: float = 0.0
    slowest: float = 0.0
    megabytes: float = 0.0
    """By which the process has grown at most."""
    bugs: dict[str, bytes] = field(default_factory=dict)
    """What was raised, by where; and the first input that raised it."""

    @property
    def inputs(self) -> int:
        """How many there were."""
        return self.accepted + self.refused + self.raised


def fuzz(reader: Reader, inputs: int, seed: str) -> Tally:
    """Has a reader read bad inputs, the same ones for the same seed."""
    samples = reader.samples()
    mutations = Mutations(samples, random.Random(f"{seed}/{reader.name}"), reader.tokens)
    tally = Tally()
    before = peak()
    memory = Path("/dev/shm")  # where nothing waits for a disk, if there is that
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=memory if memory.is_dir() else None) as folder:
        path = Path(folder) / reader.file
        for sample in samples:
            _read(reader, path, sample.data, tally)
        for _ in range(inputs - len(samples)):
            _read(reader, path, mutations.next(), tally)
    tally.megabytes = peak() - before
    return tally


def _read(reader: Reader, path: Path, data: bytes, tally: Tally) -> None:
    reader.wrap(path, data)
    started = clock.monotonic()
    try:
        with at_most(HANG_SECONDS):
            reader.read(path)
        tally.accepted += 1
    except AgentEvalError as error:
        str(error).encode("utf-8", "surrogatepass")
        tally.refused += 1
    except (Exception, HungError) as error:
        tally.raised += 1
        tally.bugs.setdefault(_told(error), data)
    spent = clock.monotonic() - started
    tally.seconds += spent
    tally.slowest = max(tally.slowest, spent)


def _told(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "agent_eval" in frame.filename] or list(frames)
    where = f"{Path(own[-1].filename).name}:{own[-1].lineno}"
    return f"{type(error).__name__} at {where}"


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    def hung(*_: object) -> None:
        raise HungError

    signal.signal(signal.SIGALRM, hung)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def peak() -> float:
    """The most memory that this process ever had, in megabytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
