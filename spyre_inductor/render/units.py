"""Divides the kernels of a long module in two, so that two processes can compile it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spyre_inductor.plan.kernel_plan import KernelGroup, KernelPlan

# A second process reads the headers again, about 25 ms; a kernel takes about 20 ms.
_KERNELS_WORTH_DIVIDING = 5


def divide_in_units(
    plans: Sequence[KernelPlan | KernelGroup], texts: Mapping[str, str]
) -> list[list[str]]:
    """Names per unit, in order; one or two units of about the same length of text.

    A group calls its kernels, so they stay together.
    """
    names = [plan.name for plan in plans]
    together = {name: [name] for name in names}
    for plan in plans:
        if isinstance(plan, KernelGroup):
            joined = together[plan.name]
            for kernel in plan.kernels:
                other = together[kernel.name]
                if other is not joined:
                    joined += other
                    together.update(dict.fromkeys(other, joined))
    if len(names) < _KERNELS_WORTH_DIVIDING:
        return [names]
    parts = {id(part): part for part in together.values()}.values()
    units: tuple[set[str], set[str]] = (set(), set())
    lengths = [0, 0]
    for length, part in sorted(
        ((sum(len(texts[name]) for name in part), part) for part in parts), reverse=True
    ):
        shorter = lengths.index(min(lengths))
        units[shorter].update(part)
        lengths[shorter] += length
    return [[name for name in names if name in unit] for unit in units if unit]
