"""Asynchronous eager calls: how fast a large call returns, how long its work takes.

    python -m benchmarks.eager_async

A 4096x4096 matmul, a convolution and attention must return in under 100 us; a thousand small adds
must cost at most 1.6 times CPU eager's. Prints one row each and "within limits" or what is not.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

CALL_LIMIT_SECONDS = 100e-6
SMALL_ADD_LIMIT = 1.6


def large_calls() -> dict[str, Callable[[], torch.Tensor]]:
    """Calls whose work takes tens of milliseconds."""
    matrix = torch.rand(4096, 4096, device="spyre")
    image = torch.rand(16, 64, 112, 112, device="spyre")
    weight = torch.rand(128, 64, 3, 3, device="spyre")
    query = torch.rand(2, 16, 2048, 64, device="spyre")
    return {
        "matmul 4096x4096": lambda: matrix @ matrix,
        "conv2d 16x64x112x112": lambda: F.conv2d(image, weight),
        "sdpa 2x16x2048x64": lambda: F.scaled_dot_product_attention(
            query, query, query
        ),
    }


def measure(call: Callable[[], torch.Tensor]) -> tuple[float, float]:
    """The shortest call of five, and its work's end, in seconds."""
    call()
    torch.spyre.synchronize()
    calls, works = [], []
    for _ in range(5):
        start = time.perf_counter()
        result = call()
        calls.append(time.perf_counter() - start)
        torch.spyre.synchronize()
        works.append(time.perf_counter() - start)
        del result
    return min(calls), min(works)


def thousand_adds(device: str) -> float:
    """Seconds for a thousand dependent adds of 16x16, the shortest of thirty runs."""
    x, y = torch.rand(16, 16, device=device), torch.rand(16, 16, device=device)
    best = float("inf")
    for _ in range(30):
        start = time.perf_counter()
        z = x
        for _ in range(1000):
            z = z + y
        if device != "cpu":
            torch.spyre.synchronize()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    broken = []
    for name, call in large_calls().items():
        called, worked = measure(call)
        print(f"{name:24} call {called * 1e6:8.1f} us   work {worked * 1e3:8.1f} ms")
        if called > CALL_LIMIT_SECONDS:
            broken.append(f"{name}: call took {called * 1e6:.0f} us")
    ratio = thousand_adds("spyre") / thousand_adds("cpu")
    print(f"{'a thousand small adds':24} {ratio:.2f} times CPU eager")
    if ratio > SMALL_ADD_LIMIT:
        broken.append(f"small adds: {ratio:.2f} times CPU eager")
    print("; ".join(broken) if broken else "within limits")


if __name__ == "__main__":
    main()
