"""Divides the kernels of a long module into units, so that several processes can compile it.

Units follow one another in the file: the text up to the end of one does not depend on the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spyre_inductor.plan.kernel_plan import KernelGroup, KernelPlan

from .environment import render_template

# A second process reads the headers again, about 25 ms; a kernel takes about 20 ms.
_KERNELS_WORTH_DIVIDING = 5


@dataclass(frozen=True)
class KernelSource:
    """One rendered entry point, the headers it needs, and the kernels it calls."""

    name: str
    text: str
    headers: frozenset[str] = frozenset()
    calls: tuple[str, ...] = ()


def whole_text(graph_name: str, kernels: Sequence[KernelSource]) -> str:
    """A source file that is compiled by one process."""
    return render_template(
        "module.cpp.jinja", graph_name=graph_name, **_inputs(kernels)
    )


def unit_text(graph_name: str, number: int, kernels: Sequence[KernelSource]) -> str:
    """The part of a source file that `-DSPYRE_UNIT=number` selects; units count from 1."""
    own = {kernel.name for kernel in kernels}
    called = dict.fromkeys(name for kernel in kernels for name in kernel.calls)
    return render_template(
        "unit.cpp.jinja",
        graph_name=graph_name,
        number=number,
        first=number == 1,
        declared=[name for name in called if name not in own],
        **_inputs(kernels),
    )


def _inputs(kernels: Sequence[KernelSource]) -> dict[str, list[str]]:
    return {
        "names": [kernel.name for kernel in kernels],
        "headers": sorted(frozenset().union(*(k.headers for k in kernels))),
        "kernels": [kernel.text for kernel in kernels],
    }


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
                other = together.get(kernel.name, joined)  # in an earlier unit already
                if other is not joined:
                    joined += other
                    together.update(dict.fromkeys(other, joined))
    if len(names) < _KERNELS_WORTH_DIVIDING:
        return [names] if names else []
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
