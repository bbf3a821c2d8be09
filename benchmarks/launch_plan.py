"""What a kernel costs inside a launch plan: one kernel against a chain of 200, minimum of many.

    python -m benchmarks.launch_plan

The chain is x = x * 1.5 + 1 on 16 elements, so that nothing but the launch is measured. The last
line compares with launching the same kernels one by one from Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch._inductor.codecache import PyCodeCache

from spyre_inductor.launch.plan_encoding import PlanEncoder
from spyre_inductor.plan.launch_plan import (
    KernelStep,
    LaunchPlan,
    Memory,
    TensorOutput,
    TensorSlot,
)

STEPS = 200
ELEMS = 16


def compiled_kernel() -> tuple[str, dict[str, Any]]:
    """Name of the kernel of `x * 1.5 + 1`, and the generated module that holds it."""
    x = torch.ones(ELEMS).to("spyre")
    torch.compile(lambda x: x * 1.5 + 1, backend="spyre")(x)
    scope = dict(vars(PyCodeCache.modules[-1]))
    name = next(name for name in scope if name.startswith("spyre_fused"))
    scope[name] = scope[name].loaded
    return name, scope


def chain(kernel: str, scope: dict[str, Any], steps: int) -> Callable[[list[Any]], Any]:
    """A launch plan of `steps` launches, each on the result of the one before."""
    memories = [Memory("input", input=0)]
    memories += [Memory("temporary", bytes=4 * ELEMS)] * (steps - 1)
    memories.append(Memory("output", bytes=4 * ELEMS))
    plan = LaunchPlan(
        name=f"chain_{steps}",
        device=0,
        input_count=1,
        constants=(),
        sizes=(),
        memories=tuple(memories),
        slots=tuple(
            TensorSlot(f"buf{i}", i, "float32", (ELEMS,), (1,))
            for i in range(steps + 1)
        ),
        steps=tuple(KernelStep(kernel, (i, i + 1)) for i in range(steps)),
        outputs=(TensorOutput(steps),),
    )
    from torch_spyre import _C

    return _C.make_launch_plan(*PlanEncoder(plan, scope).encode())


def microseconds(call: Callable[[], Any], calls: int = 300, rounds: int = 30) -> float:
    """Least time of one call over `rounds` rounds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - start) / calls)
    return best * 1e6


def main() -> None:
    kernel, scope = compiled_kernel()
    x = torch.ones(ELEMS).to("spyre")
    one, many = chain(kernel, scope, 1), chain(kernel, scope, STEPS)
    expected = 1.0
    for _ in range(STEPS):
        expected = expected * 1.5 + 1
    torch.testing.assert_close(many([x])[0].cpu(), torch.full((ELEMS,), expected))
    alone = microseconds(lambda: one([x]))
    together = microseconds(lambda: many([x]))
    buffers = [x, x.clone()]

    def by_python() -> None:
        launch = scope[kernel]
        for i in range(STEPS):
            launch(buffers[i % 2], buffers[1 - i % 2])

    lines = microseconds(by_python, calls=30)
    per_kernel = (together - alone) / (STEPS - 1) * 1e3
    print(f"graph of 1 kernel:    {alone:7.2f} us a call, output included")
    print(f"graph of {STEPS} kernels: {together:7.2f} us a call")
    print(f"inside a plan:        {per_kernel:7.1f} ns a kernel, its work included")
    print(f"one by one in Python: {lines / STEPS * 1e3:7.1f} ns a kernel")


if __name__ == "__main__":
    main()
