"""Run-time bounds checks for indices that are loaded or computed.

Inductor checks what aten.index and its relatives are given. Indices that a decomposition computes
(aten._unsafe_index: interpolation, grid sampling) come without a check. Where the ranges of their
values do not prove that the access stays inside the buffer, the plan gets a check of its own, so
that a wrong index is an error and never another tensor's memory.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from spyre_inductor.plan.expr import symbols
from spyre_inductor.plan.kernel_plan import (
    Axis,
    BufferArgument,
    CheckBounds,
    IndexValue,
    Load,
    Operation,
    Stage,
    Store,
)
from spyre_inductor.plan.operations import results
from spyre_inductor.plan.value_bounds import ValueBounds


def with_index_checks(
    stages: Sequence[Stage],
    axes: Sequence[Axis],
    buffers: Sequence[BufferArgument],
    checks: Sequence[str],
) -> tuple[tuple[Stage, ...], tuple[str, ...]]:
    """Stages with the missing checks, and the plan's check messages."""
    extents = {axis.name: axis.extent for axis in axes if isinstance(axis.extent, int)}
    bounds = ValueBounds(extents)
    sizes = {buffer.name: buffer for buffer in buffers}
    messages = list(checks)
    values: set[str] = set()
    done: list[Stage] = []
    for stage in stages:
        ops: list[Operation] = []
        for op in stage.ops:
            if isinstance(op, (Load, Store)) and _is_open(op, values, bounds, sizes):
                number = sum(isinstance(o, IndexValue) for o in ops)
                name = f"{op.buffer}_at_{len(done)}_{number}"
                ops += _check(op, name, sizes[op.buffer], messages)
            ops.append(op)
            bounds.visit(op)
            values.update(results(op))
        done.append(dataclasses.replace(stage, ops=tuple(ops)))
    return tuple(done), tuple(messages)


def _is_open(
    op: Load | Store,
    values: set[str],
    bounds: ValueBounds,
    sizes: Mapping[str, BufferArgument],
) -> bool:
    """Whether nothing keeps the index of `op` inside its buffer."""
    computed = symbols(op.index) & values
    if computed <= bounds.checked:
        return False
    size = sizes[op.buffer].storage_elems
    reach = bounds.of_index(op.index)
    if reach is None or not isinstance(size, int):
        return True
    return reach[0] < 0 or reach[1] >= size


def _check(
    op: Load | Store, name: str, buffer: BufferArgument, messages: list[str]
) -> list[Operation]:
    message = f"computed index out of range of {buffer.name} ({buffer.buffers[-1]})"
    if message not in messages:
        messages.append(message)
    mask = op.mask if isinstance(op, Load) else None
    number = messages.index(message)
    return [
        IndexValue(name, op.index, "int64"),
        CheckBounds(name, 0, buffer.storage_elems, number, mask),
    ]
