"""Eager operators on spyre against CPU eager: time per call of 20 common operators at 3 sizes.

    python -m benchmarks.eager_overhead [--short]

Calls are interleaved in blocks and the minimum of each side counts, since other work on the machine
only ever adds. Small and medium rows time the call to its end on an idle stream; large rows include
the wait. Each row's results are compared first. Ends with one line per size.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

SIZES = {"small": 16, "medium": 128, "large": 1536}  # square matrices of float32
Call = Callable[[], torch.Tensor]


def operators(device: str, n: int) -> dict[str, Call]:
    """The calls on `device`, on matrices of shape [n, n]."""
    torch.manual_seed(0)
    a, b = torch.randn(n, n).to(device), torch.randn(n, n).to(device)
    w, out = torch.randn(n).to(device), torch.empty(n, n, device=device)
    rows = torch.arange(0, n, 2).to(device)
    mask = a > 0
    return {
        "add": lambda: a + b,
        "add number": lambda: a + 1.5,
        "sub": lambda: a - b,
        "mul": lambda: a * b,
        "div": lambda: a / b,
        "add_": lambda: out.copy_(a).add_(b),
        "relu": lambda: torch.relu(a),
        "gelu": lambda: F.gelu(a),
        "sigmoid": a.sigmoid,
        "exp": a.exp,
        "greater": lambda: a > b,
        "where": lambda: torch.where(mask, a, b),
        "sum": lambda: a.sum(-1),
        "mean": lambda: a.mean(-1),
        "softmax": lambda: a.softmax(-1),
        "layer_norm": lambda: F.layer_norm(a, (n,), w, w),
        "matmul": lambda: a @ b,
        "linear": lambda: F.linear(a, b, w),
        "cat": lambda: torch.cat([a, b]),
        "index_select": lambda: a.index_select(0, rows),
    }


def seconds(call: Call, repeats: int, wait: Callable[[], None]) -> float:
    """Time of one of `repeats` calls, the wait at their end included."""
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    wait()
    return (time.perf_counter() - start) / repeats


def compare(
    cpu: Call, card: Call, blocks: int, budget_seconds: float
) -> tuple[float, float]:
    """The shortest time per call of both, from interleaved blocks."""
    torch.testing.assert_close(card().cpu(), cpu(), rtol=1e-3, atol=1e-3)
    once = seconds(cpu, 3, lambda: None)
    repeats = max(3, min(300, int(budget_seconds / once)))
    best = [math.inf, math.inf]
    for _ in range(blocks):
        best[0] = min(best[0], seconds(cpu, repeats, lambda: None))
        best[1] = min(best[1], seconds(card, repeats, torch.spyre.synchronize))
    return best[0], best[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="fewer blocks")
    blocks = 6 if parser.parse_args().short else 25
    print(f"{'size':8}{'operator':14}{'cpu us':>10}{'spyre us':>10}{'ratio':>8}")
    means = {}
    for size, n in SIZES.items():
        cpu, card = operators("cpu", n), operators("spyre", n)
        ratios = []
        for name in cpu:
            theirs, ours = compare(cpu[name], card[name], blocks, 0.004)
            ratios.append(ours / theirs)
            print(
                f"{size:8}{name:14}{theirs * 1e6:10.2f}{ours * 1e6:10.2f}{ours / theirs:8.2f}"
            )
        means[size] = math.exp(sum(map(math.log, ratios)) / len(ratios))
    for size, mean in means.items():
        print(f"geometric mean, {size}: {mean:.2f}")


if __name__ == "__main__":
    main()
