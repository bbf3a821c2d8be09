"""`a + 1` of 64 MiB: memory that the card's caching allocator uses again, against CPU eager's own.

    python -m benchmarks.large_output

CPU eager maps fresh pages for every large result and faults them in; the card keeps them. Each peer
has a process of its own; they take turns, and a ratio is formed inside each turn.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

import torch

MEBIBYTES = 64
ROUNDS, CALLS = 15, 8
QUIET_SECONDS = 0.02  # until the other process's OpenMP workers sleep


def serve(device: str) -> None:
    """Answers each line on standard input with the milliseconds of one `a + 1`."""
    a = torch.ones(MEBIBYTES << 18, device=device)
    wait = torch.spyre.synchronize if device == "spyre" else lambda: None
    for _ in sys.stdin:
        time.sleep(QUIET_SECONDS)
        result = a + 1
        wait()
        start = time.perf_counter()
        for _ in range(CALLS):
            result = a + 1
        wait()
        print((time.perf_counter() - start) * 1e3 / CALLS, flush=True)
    assert bool((result == 2).all())


def main() -> None:
    pipe = subprocess.PIPE
    peers = {
        device: subprocess.Popen(
            [sys.executable, "-m", "benchmarks.large_output", device],
            stdin=pipe,
            stdout=pipe,
            text=True,
        )
        for device in ("spyre", "cpu")
    }
    times: dict[str, list[float]] = {device: [] for device in peers}
    for index in range(ROUNDS):
        order = list(peers) if index % 2 == 0 else list(reversed(peers))
        for device in order:
            process = peers[device]
            assert process.stdin and process.stdout
            process.stdin.write("time\n")
            process.stdin.flush()
            times[device].append(float(process.stdout.readline()))
    for process in peers.values():
        assert process.stdin
        process.stdin.close()
        if process.wait(timeout=60) != 0:
            raise RuntimeError("a peer failed; see above")
    pairs = list(zip(times["spyre"], times["cpu"], strict=True))
    low, median, high = statistics.quantiles([b / a for a, b in pairs], n=4)
    print(f"a + 1, {MEBIBYTES} MiB, milliseconds (median of {ROUNDS})")
    print(f"spyre {statistics.median(times['spyre']):8.2f}")
    print(f"cpu   {statistics.median(times['cpu']):8.2f}")
    print(f"ratio {median:8.2f} [{low:.2f} {high:.2f}]")


if __name__ == "__main__":
    with torch.no_grad():
        serve(sys.argv[1]) if sys.argv[1:] else main()
