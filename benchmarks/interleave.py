"""Times peers in turns, so that a noisy moment of the machine hits all of them.

Gives ratios with their spread: a ratio is formed inside each round, then the median and quartiles
are taken over the rounds.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

SLOT_MICROSECONDS = 20_000.0
MAX_CALLS = 1000
PROBE_CALLS = 10
KERNEL_ROUNDS = 3


class PeerProcess:
    """A running benchmarks.worker. Use as a context manager."""

    def __init__(self, target: str) -> None:
        self.target = target

    def __enter__(self) -> PeerProcess:
        command = [sys.executable, "-m", "benchmarks.worker", self.target]
        pipe = subprocess.PIPE
        environment = {
            **os.environ,
            "KINETO_LOG_LEVEL": "99",
        }  # two lines per profile else
        if self.target != "spyre":
            # Stock: with an accelerator loaded Dynamo asks for its stream in each call, 3 us.
            environment["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=environment
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(timeout=60)

    def send(self, **request: object) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def receive(self) -> dict:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the {self.target} peer ended: {self._process.wait()}")
        return json.loads(line)

    def time(self, name: str, calls: int) -> float:
        """Microseconds per call, end to end."""
        self.send(time=name, calls=calls)
        return self.receive()["us"]

    def kernel_time(self, name: str) -> float:
        """Microseconds per call in the kernels alone."""
        self.send(kernel=name)
        return self.receive()["us"]


@dataclass(frozen=True)
class Ratio:
    """How many times as fast ours is as the peer, and both times in microseconds."""

    ours_us: float
    peer_us: float
    median: float
    low: float  # lower quartile over the rounds
    high: float
    kernel: float  # the same for the kernels alone, median


def compare(name: str, ours: PeerProcess, peer: PeerProcess, rounds: int) -> Ratio:
    """Times one prepared case in `rounds` turns of both."""
    calls = {p: _calls_per_slot(p.time(name, PROBE_CALLS)) for p in (ours, peer)}
    pairs = []
    for index in range(rounds):
        order = (ours, peer) if index % 2 == 0 else (peer, ours)
        times = {p: p.time(name, calls[p]) for p in order}
        pairs.append((times[ours], times[peer]))
    ratios = [theirs / own for own, theirs in pairs]
    kernel = [
        peer.kernel_time(name) / ours.kernel_time(name) for _ in range(KERNEL_ROUNDS)
    ]
    low, median, high = statistics.quantiles(ratios, n=4)
    return Ratio(
        min(own for own, _ in pairs),
        min(theirs for _, theirs in pairs),
        median,
        low,
        high,
        statistics.median(kernel),
    )


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


def _calls_per_slot(microseconds: float) -> int:
    return max(1, min(MAX_CALLS, round(SLOT_MICROSECONDS / microseconds)))
