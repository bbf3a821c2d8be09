"""Which kernels of a launch plan have to wait for those before them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..plan.launch_plan import ExternStep, KernelStep, Step, TensorSlot


def mark_barriers(
    steps: Sequence[Step], slots: Sequence[TensorSlot]
) -> tuple[Step, ...]:
    """The steps, with `barrier` only where a kernel meets memory that an earlier one changes, or
    changes what an earlier one uses.

    Whole memories are compared, so views of one are never told apart. A barrier ends everything
    before it, and so does an extern call. Inputs are different memories: AOTAutograd gives aliases
    of an input that is written one base.
    """
    marked: list[Step] = []
    used: set[int] = set()
    changed: set[int] = set()
    for step in steps:
        if not isinstance(step, KernelStep):
            if isinstance(step, ExternStep):  # seeds are drawn before the first step
                used, changed = set(), set()
            marked.append(step)
            continue
        memories = [slots[slot].memory for slot in step.slots]
        accessed, written = set(memories), {memories[i] for i in step.writes}
        barrier = bool(written & used or accessed & changed)
        if barrier:
            used, changed = set(), set()
        used |= accessed
        changed |= written
        marked.append(dataclasses.replace(step, barrier=barrier))
    return tuple(marked)
