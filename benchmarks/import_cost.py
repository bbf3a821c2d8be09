"""What the installed device adds to `import torch`, in new processes that take turns.

    python -m benchmarks.import_cost

The goal is at most 0.3 s, with torch._dynamo not imported.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

ROUNDS = 7
PROGRAM = "import torch, sys; sys.exit('torch._dynamo' in sys.modules)"


def seconds(autoload: bool) -> float:
    """Wall time of a process that imports torch; raises when Dynamo came along."""
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": str(int(autoload))}
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", PROGRAM], env=environment, check=True)
    return time.perf_counter() - start


def main() -> int:
    pairs = [(seconds(True), seconds(False)) for _ in range(ROUNDS + 1)][1:]
    with_device = statistics.median(first for first, _ in pairs)
    without = statistics.median(second for _, second in pairs)
    added = [first - second for first, second in pairs]
    print(f"import torch: {with_device:.2f} s with the device, {without:.2f} s without")
    print(
        f"added: {statistics.median(added):.2f} s [{min(added):.2f} {max(added):.2f}]"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
