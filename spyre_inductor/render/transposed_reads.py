"""Loads whose neighbours in memory lie along the axis beside the lanes: a transposition.

Such a load is lifted out of the loop over a group of rows: transpose.h reads the group's block
along the memory's rows and turns it in registers; the load then takes its row of that block.
"""

from __future__ import annotations

from dataclasses import dataclass

from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.plan.expr import IntExpr, symbols

from . import cpp_types
from .index_text import affine_stride, factor_text, index_text


@dataclass(frozen=True)
class TransposedReads:
    """The axis whose points are grouped, and the loads that read along it."""

    beside: kp.Axis
    loads: tuple[kp.Load, ...]


def nest_order(plan: kp.KernelPlan) -> tuple[kp.Axis, ...]:
    """Parallel axes as they are nested: the lane axis last within the divided or the other ones."""
    count = len(plan.division.axes)
    return lane_last(plan.axes[:count], plan.lane_axis) + lane_last(
        plan.axes[count:], plan.lane_axis
    )


def lane_last(axes: tuple[kp.Axis, ...], lane: str | None) -> tuple[kp.Axis, ...]:
    """`axes` with the lane axis moved to the end."""
    return tuple(sorted(axes, key=lambda axis: axis.name == lane))


def transposed_reads(plan: kp.KernelPlan) -> TransposedReads | None:
    """The transposition in `plan`, if its loops can be grouped for it."""
    order = nest_order(plan)
    if plan.reduction_axes or len(order) < 2 or order[-1].name != plan.lane_axis:
        return None
    lane, beside = order[-1], order[-2]
    accesses = [
        op
        for stage in plan.stages
        for op in stage.ops
        if isinstance(op, (kp.Load, kp.Store))
    ]
    across = [op for op in accesses if _is_across(op.index, lane.name, beside.name)]
    if not across:
        return None
    names = {axis.name for axis in plan.axes} | {s.name for s in plan.scalars}
    loads = tuple(
        op
        for op in across
        if isinstance(op, kp.Load) and op.mask is None and symbols(op.index) <= names
    )
    return TransposedReads(beside, loads)


def _is_across(index: IntExpr, lane: str, beside: str) -> bool:
    stride = affine_stride(index, lane)
    return affine_stride(index, beside) == 1 and stride not in (0, 1, None)


def block_lines(plan: kp.KernelPlan, reads: TransposedReads) -> list[str]:
    """Declarations of the turned blocks; the axes stand at the group's first row."""
    dtypes = {buffer.name: buffer.dtype for buffer in plan.buffers}
    lines = []
    for load in reads.loads:
        kind = cpp_types.memory_type(dtypes[load.buffer])
        stride = affine_stride(load.index, str(plan.lane_axis))
        assert stride is not None
        name = block_name(load)
        lines.append(f"alignas(64) {kind} {name}[kRunGroup * kLanes];")
        address = f"{load.buffer} + {factor_text(load.index)}"
        count = "lanes.count, last - first"
        lines.append(f"read_across({name}, {address}, {index_text(stride)}, {count});")
    return lines


def block_name(load: kp.Load) -> str:
    """Name of the turned block that a load reads."""
    return f"{load.result}_rows"
