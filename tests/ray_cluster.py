"""A Ray cluster of two nodes on this machine, in a process of its own that is told what to do with it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class Cluster:
    """The cluster, as tests have it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.address = self._answer()

    def lose_node(self) -> None:
        """Kills the second node."""
        self._tell("lose")

    def add_node(self) -> None:
        """Starts another second node."""
        self._tell("add")

    def _tell(self, word: str) -> None:
        assert self._process.stdin is not None
        print(word, file=self._process.stdin, flush=True)
        assert self._answer() == word

    def _answer(self) -> str:
        assert self._process.stdout is not None
        answer = self._process.stdout.readline().strip()
        assert answer, "the cluster has ended"
        return answer


@contextmanager
def ray_cluster() -> Iterator[Cluster]:
    """Two nodes with two CPUs each."""
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
        text=True,
    )
    with process:
        try:
            yield Cluster(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(30)


def serve() -> None:
    """Holds the cluster until standard input ends."""
    from ray.cluster_utils import Cluster as RayCluster

    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    cluster = RayCluster(initialize_head=True, head_node_args={"num_cpus": 2})
    second = cluster.add_node(num_cpus=2)
    print(cluster.address, file=channel, flush=True)
    for line in sys.stdin:
        if line.strip() == "lose":
            cluster.remove_node(second, allow_graceful=False)
        else:
            second = cluster.add_node(num_cpus=2)
        print(line.strip(), file=channel, flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    serve()
