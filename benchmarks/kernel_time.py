"""Times the kernels of a compiled callable alone, without Dynamo, guards, allocation and launch."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile

CALLS = 30


def spyre(run: Callable[[], torch.Tensor]) -> list[float]:
    """Microseconds of device work in `CALLS` calls, one entry per row of the profiler."""
    with profile(activities=[ProfilerActivity.PrivateUse1]) as profiled:
        for _ in range(CALLS):
            run()
            torch.spyre.synchronize()
    # The lanes of a kernel's virtual cores are annotations: their time is the kernel's again.
    rows = [row for row in profiled.events() if not row.is_user_annotation]
    return [row.device_time_total for row in rows]


def inductor(run: Callable[[], torch.Tensor]) -> list[float]:
    """The same for the C++ functions of Inductor's CPU backend, one entry per call."""
    from torch._inductor.codecache import PyCodeCache

    spent: list[float] = []

    def timed(kernel: Callable[..., None]) -> Callable[..., None]:
        def wrapper(*arguments: object) -> None:
            start = time.perf_counter()
            kernel(*arguments)
            spent[-1] += (time.perf_counter() - start) * 1e6

        return wrapper

    originals = [
        (module, name, kernel)
        for module in PyCodeCache.modules
        for name, kernel in vars(module).items()
        if name.startswith("cpp_fused") and callable(kernel)
    ]
    for module, name, kernel in originals:
        setattr(module, name, timed(kernel))
    try:
        for _ in range(CALLS):
            spent.append(0.0)
            run()
    finally:
        for module, name, kernel in originals:
            setattr(module, name, kernel)
    return spent
