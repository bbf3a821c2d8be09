"""One peer in a process of its own: `python -m benchmarks.worker spyre|inductor`.

Two thread teams in one process slow each other down, so peers do not share one. Reads one JSON
request per line, answers one JSON line:
    {"prepare": case name}           -> {"error": text or null, "compile_s": seconds}
    {"time": case name, "calls": n}  -> {"us": microseconds per call, end to end}
    {"kernel": case name}            -> {"us": microseconds per call, in its kernels only}
"""

from __future__ import annotations

import json
import sys
import time
import types
from collections.abc import Callable

import torch

from benchmarks.cases import Case, all_cases
from benchmarks.kernel_time import CALLS, inductor, spyre

# The other peer's OpenMP workers spin for about 8 ms after their last region; they must be asleep.
QUIET_SECONDS = 0.015
WARM_UP_SECONDS = 0.01
WARM_UP_CALLS = 4


class Peer:
    """Compiles cases for `target` and times them."""

    def __init__(self, target: str) -> None:
        self.device = "spyre" if target == "spyre" else "cpu"
        self.backend = target
        self.runs: dict[str, Callable[[], torch.Tensor]] = {}

    def prepare(self, case: Case) -> float:
        """Compiles, checks the result against CPU eager; returns seconds of the first call."""
        inputs = case.inputs()
        moved = [tensor.to(self.device) for tensor in inputs]
        compiled = torch.compile(
            own_code(case), backend=self.backend, fullgraph=True, dynamic=False
        )
        start = time.perf_counter()
        result = compiled(*moved)
        self.synchronize()
        seconds = time.perf_counter() - start
        self.runs[case.name] = lambda: compiled(*moved)
        check_equal(case, inputs, result.cpu())
        return seconds

    def time(self, name: str, calls: int) -> float:
        """Microseconds per call, the wait for the last result included."""
        run = self.runs[name]
        self.warm_up(run)
        start = time.perf_counter()
        for _ in range(calls):
            run()
        self.synchronize()
        return (time.perf_counter() - start) * 1e6 / calls

    def kernel_time(self, name: str) -> float:
        """Microseconds per call that the case's kernels take on both threads, mean."""
        run = self.runs[name]
        self.warm_up(run)
        times = (spyre if self.device == "spyre" else inductor)(run)
        return sum(times) / CALLS

    def warm_up(self, run: Callable[[], torch.Tensor]) -> None:
        time.sleep(QUIET_SECONDS)
        until = time.perf_counter() + WARM_UP_SECONDS
        calls = 0
        while calls < WARM_UP_CALLS or time.perf_counter() < until:
            run()
            calls += 1
            if calls % WARM_UP_CALLS == 0:
                self.synchronize()
        self.synchronize()

    def synchronize(self) -> None:
        if self.device == "spyre":
            torch.spyre.synchronize()


def own_code(case: Case) -> Callable[..., torch.Tensor]:
    """The case's function with a code object of its own: Dynamo limits compilations of one."""
    function = case.function
    return types.FunctionType(
        function.__code__.replace(), function.__globals__, case.name
    )


def check_equal(
    case: Case, inputs: tuple[torch.Tensor, ...], result: torch.Tensor
) -> None:
    """Raises AssertionError unless `result` equals CPU eager's within torch's tolerances.

    Sums and 16-bit chains leave them by their order and rounding alone, so a result that is nowhere
    further from the float64 result than eager's own worst error passes too.
    """
    expected = case.function(*inputs)
    exact = case.function(*(tensor.double() for tensor in inputs))
    if worst_error(result, exact) > worst_error(expected, exact):
        torch.testing.assert_close(result, expected)


def worst_error(result: torch.Tensor, exact: torch.Tensor) -> float:
    return (result.double() - exact).abs().max().item()


def serve(peer: Peer) -> None:
    cases = {case.name: case for case in all_cases()}
    replies, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        if "prepare" in request:
            reply = {"error": None, "compile_s": 0.0}
            try:
                reply["compile_s"] = peer.prepare(cases[request["prepare"]])
            except Exception as error:
                reply["error"] = f"{type(error).__name__}: {error}"
        elif "kernel" in request:
            reply = {"us": peer.kernel_time(request["kernel"])}
        else:
            reply = {"us": peer.time(request["time"], request["calls"])}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    with torch.no_grad():
        serve(Peer(sys.argv[1]))
