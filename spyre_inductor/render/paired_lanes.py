"""Kernels whose lanes take every second point, because all their memory is bfloat16.

Conditions, spyre_kernels/pairs.h relies on them: whole pairs of steps; every access along the lanes
is of bfloat16, neighbour by neighbour; nothing asks which point a lane is, leaves a step early, or
reads what the same step has stored.
"""

from __future__ import annotations

from collections.abc import Iterator

from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.plan.expr import symbols

from .index_text import affine_stride
from .lane_analysis import LaneAnalysis

_PAIR = 32
# Four partial results.
_REDUCED_PAIR = 64


def paired_stores(analysis: LaneAnalysis) -> dict[kp.Store, int] | None:
    """The stores along the lanes, numbered; None when the lanes do not run in pairs of steps."""
    if not _runs_in_pairs(analysis):
        return None
    ops = (op for step in _steps(analysis) for op in step)
    stores = dict.fromkeys(op for op in ops if isinstance(op, kp.Store))
    return {store: number for number, store in enumerate(stores)}


def _runs_in_pairs(analysis: LaneAnalysis) -> bool:
    plan, lane = analysis.plan, analysis.plan.lane_axis
    if lane is None or analysis.turned or not _has_whole_pairs(analysis):
        return False
    if any(analysis.value(name).dtype != "float32" for name in plan.tile.staged):
        return False
    memory = {argument.name: argument.dtype for argument in plan.buffers}
    paired = False
    for step in _steps(analysis):
        stored: set[str] = set()
        for op in step:
            if isinstance(op, (kp.Load, kp.Store)):
                stride = _stride(op, analysis)
                if stride == 1:
                    paired = paired or memory[op.buffer] == "bfloat16"
                if not _is_simple(op, stride, memory[op.buffer], stored):
                    return False
                if isinstance(op, kp.Store):
                    stored.add(op.buffer)
            elif not _is_alike(op, lane):
                return False
    return paired


def _has_whole_pairs(analysis: LaneAnalysis) -> bool:
    plan = analysis.plan
    (axis,) = (
        a for a in (*plan.axes, *plan.reduction_axes) if a.name == plan.lane_axis
    )
    unit = _REDUCED_PAIR if analysis.lanes_reduce else _PAIR
    if not isinstance(axis.extent, int) or axis.extent % unit:
        return False
    return axis.name not in plan.division.axes or plan.division.grain % unit == 0


def _steps(analysis: LaneAnalysis) -> Iterator[tuple[kp.Operation, ...]]:
    """Operations that run together for one step of lanes."""
    stages = analysis.plan.stages
    if analysis.lanes_reduce:
        yield from (s.ops for s in stages if isinstance(s, kp.LoopStage))
    else:
        yield tuple(op for stage in stages for op in stage.ops)


def _stride(op: kp.Load | kp.Store, analysis: LaneAnalysis) -> object:
    """Elements between lanes; None for an index that is computed lane by lane."""
    named = symbols(op.index)
    if any(n in analysis.values and analysis.value(n).varying for n in named):
        return None
    return affine_stride(op.index, str(analysis.plan.lane_axis))


def _is_simple(
    op: kp.Load | kp.Store, stride: object, memory: str, stored: set[str]
) -> bool:
    if isinstance(op, kp.Store):
        return op.mode == "plain" and stride == 1 and memory == "bfloat16"
    if op.mask is not None or op.buffer in stored:
        return False
    return stride == 0 or (stride == 1 and memory == "bfloat16")


def _is_alike(op: kp.Operation, lane: str) -> bool:
    """Whether `op` treats all lanes alike, wherever their points lie."""
    if isinstance(op, kp.IndexValue):
        return lane not in symbols(op.expr)
    if isinstance(op, kp.Reduce):
        return op.index is None
    return isinstance(op, (kp.Constant, kp.Compute, kp.Cast))
