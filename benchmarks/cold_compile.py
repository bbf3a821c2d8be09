"""Time of the first call of a compiled function, ours against Inductor CPU, in fresh processes.

    python -m benchmarks.cold_compile [--rounds N]

Three situations: `machine` (no caches at all: the first graph ever), `graph` (caches of instruction
set and headers are warm, the kernel is new), `process` (every cache is warm). Imports of torch are
not counted; the two peers take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TARGETS = ("spyre", "inductor")

# Runs in its own process: two graphs, so that the second is free of one-off work. Both call
# functions of torch by name: Dynamo imports torch.distributed for the first such call (0.05 s).
PROGRAM = """
import json, sys, time
import torch
import torch._dynamo
target, salt = sys.argv[1], float(sys.argv[2])
device = "spyre" if target == "spyre" else "cpu"

def small(a, b):
    return torch.softmax(torch.relu(a * salt + b), -1)

def warm_up(a):
    return torch.sin(a) + salt

times = {}
a, b = (torch.randn(64, 512, device=device) for _ in range(2))
for name, function, inputs in (("first", warm_up, (a,)), ("second", small, (a, b))):
    start = time.perf_counter()
    result = torch.compile(function, backend=target, fullgraph=True)(*inputs)
    result.sum().item()
    times[name] = time.perf_counter() - start
print(json.dumps(times))
"""


def run_once(target: str, salt: float, cache: Path) -> dict[str, float]:
    """Seconds of the first and second graph of a new process with cache directory `cache`."""
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache)}
    environment.pop("SPYRE_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, target, str(salt)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def measure(rounds: int, root: Path) -> dict[str, dict[str, list[float]]]:
    """Seconds per situation and target."""
    seconds = {s: {t: [] for t in TARGETS} for s in ("machine", "graph", "process")}
    for target in TARGETS:  # leaves behind Inductor's instruction set and header caches
        run_once(target, 1.0, root / f"warm-{target}")
    for index in range(rounds):
        salt = 2.0 + index
        for target in TARGETS:
            cold = root / f"cold-{target}-{index}"
            seconds["machine"][target].append(run_once(target, salt, cold)["first"])
            shutil.rmtree(cold, ignore_errors=True)
            warm = root / f"warm-{target}"
            seconds["graph"][target].append(run_once(target, salt, warm)["second"])
            seconds["process"][target].append(run_once(target, salt, warm)["second"])
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        seconds = measure(arguments.rounds, Path(root))
    for situation, per_target in seconds.items():
        ours, theirs = (per_target[target] for target in TARGETS)
        ratios = [other / own for own, other in zip(ours, theirs, strict=True)]
        print(
            f"{situation:8} spyre {min(ours):6.2f} s  inductor {min(theirs):6.2f} s  "
            f"ratio {statistics.median(ratios):5.1f} [{min(ratios):.1f} {max(ratios):.1f}]"
        )


if __name__ == "__main__":
    main()
