"""Cuts a long reduction with few outputs into two kernels.

The first gives each of `splits` slices of the longest reduction axis its own core and writes that
slice's accumulators to the workspace; the second combines them and runs what follows the loop.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spyre_inductor.plan.expr import IntExpr, add, mul, substitute
from spyre_inductor.plan.kernel_plan import (
    Axis,
    BufferArgument,
    Division,
    KernelPlan,
    Load,
    LoopStage,
    LxTile,
    Operation,
    PointStage,
    Reduce,
    Scan,
    Stage,
    Store,
)
from spyre_inductor.plan.operations import has_effect, map_indices

from .dead_code import remove_dead_code
from .staging import MAX_LANES

_COMBINED_BY = {
    "sum": "sum",
    "prod": "prod",
    "max": "max",
    "min": "min",
    "any": "any",
    "xor_sum": "xor_sum",
    "welford": "welford_combine",
    "welford_combine": "welford_combine",
    "argmax": "argmax",
    "argmin": "argmin",
}
# A position is combined by the value that stands there, which the first kernel stores beside it.
_VALUE_OF = {"argmax": "max", "argmin": "min"}
SPLIT_AXIS = "s0"
_PARTIAL = "partial_ptr"


def partial_name(number: int) -> str:
    """Argument name of a workspace."""
    return f"{_PARTIAL}{number}"


# A slice of fewer points is not worth a core.
_POINTS_PER_SLICE = 1 << 15
# Units of a slice, so that slices start on sticks.
_SLICE_UNIT = 64


@dataclass(frozen=True)
class Partial:
    """One accumulator in the workspace: argument name, dtype, and elements."""

    name: str
    dtype: str
    elems: IntExpr


@dataclass(frozen=True)
class SplitPlans:
    """The two kernels; `partials` are arguments of both."""

    partial: KernelPlan
    combine: KernelPlan
    partials: tuple[Partial, ...]


def split_reduction(plan: KernelPlan, cores: int) -> SplitPlans | None:
    """The two plans, or None when `plan` is better run as it is.

    Args:
        cores: virtual cores that may be used.
    """
    position = _only_loop(plan)
    if position is None or any(not isinstance(a.extent, int) for a in _all_axes(plan)):
        return None
    axis = max(plan.reduction_axes, key=lambda a: int(a.extent))
    splits = slices_of(plan, axis, cores)
    if splits < 2:
        return None
    chunk = int(axis.extent) // splits
    return _split(plan, position, axis, splits, chunk)


def plan_with_workspaces(plan: KernelPlan, names: Mapping[str, Any]) -> KernelPlan:
    """`plan` with the graph's names for its accumulators, which tell them from other kernels'.

    Args:
        names: Argument name -> name in the graph.
    """
    buffers = tuple(
        dataclasses.replace(b, buffers=(names[b.name],))
        if b.buffers == (b.name,) and b.name.startswith(_PARTIAL)
        else b
        for b in plan.buffers
    )
    return dataclasses.replace(plan, buffers=buffers)


def _all_axes(plan: KernelPlan) -> tuple[Axis, ...]:
    return (*plan.axes, *plan.reduction_axes)


def _only_loop(plan: KernelPlan) -> int | None:
    """Position of the one LoopStage whose reductions can be combined, or None."""
    loops = [n for n, s in enumerate(plan.stages) if isinstance(s, LoopStage)]
    if len(loops) != 1:
        return None
    ops = plan.stages[loops[0]].ops
    reduces = [op for op in ops if isinstance(op, Reduce)]
    if not reduces or any(isinstance(op, Scan) for op in ops):
        return None
    if any(op.kind not in _COMBINED_BY for op in reduces):
        return None
    return loops[0]


def slices_of(plan: KernelPlan, axis: Axis, cores: int) -> int:
    """Slices of `axis`: a divisor of its extent that fills the cores; 1 for no split."""
    outputs = 1
    for a in plan.axes:
        outputs *= int(a.extent)
    points = outputs
    for a in plan.reduction_axes:
        points *= int(a.extent)
    units = max(1, outputs // max(1, plan.division.grain)) if plan.axes else 1
    if units * 2 > cores or plan.division.cores * 2 > cores:
        return 1
    limit = min(cores // units, points // _POINTS_PER_SLICE, int(axis.extent))
    divisors = [n for n in range(2, limit + 1) if int(axis.extent) % n == 0]
    aligned = [n for n in divisors if (int(axis.extent) // n) % _SLICE_UNIT == 0]
    is_inner = axis is plan.reduction_axes[-1] and plan.lane_axis == axis.name
    best = max(aligned if is_inner and aligned else divisors, default=1)
    return best if best * 4 > limit or best >= 8 else 1


def _split(
    plan: KernelPlan, position: int, axis: Axis, splits: int, chunk: int
) -> SplitPlans:
    before, loop = plan.stages[:position], plan.stages[position]
    after = plan.stages[position + 1 :]
    ops = _with_values_of_positions(loop.ops)
    reduces = [op for op in ops if isinstance(op, Reduce)]
    outputs, flat = flat_output(plan)
    names = [(r, d) for op in reduces for r, d in zip(op.results, op.dtypes)]
    partials = tuple(
        Partial(partial_name(i), dtype, mul(splits, outputs))
        for i, (_, dtype) in enumerate(names)
    )
    slot = add(flat, mul(SPLIT_AXIS, outputs))
    stores = [
        Store(partial.name, slot, result)
        for partial, (result, _) in zip(partials, names)
    ]
    moved = {axis.name: add(mul(chunk, SPLIT_AXIS), axis.name)}
    sliced = tuple(map_indices(op, lambda e: substitute(e, moved)) for op in ops)
    first = _pure(before)
    partial_plan = with_stages(
        plan,
        [*first, LoopStage(sliced), PointStage(tuple(stores))],
        partials,
        (Axis(SPLIT_AXIS, splits, "parallel"), *plan.axes),
        tuple(
            dataclasses.replace(a, extent=chunk) if a is axis else a
            for a in plan.reduction_axes
        ),
    )
    loads = _combining(reduces, partials, slot)
    combine_plan = with_stages(
        plan,
        [*before, loads, *after],
        partials,
        plan.axes,
        (Axis(SPLIT_AXIS, splits, "reduction"),),
    )
    return SplitPlans(
        divided(partial_plan, plan, (SPLIT_AXIS,), splits),
        divided(combine_plan, plan, plan.division.axes, 1),
        partials,
    )


def _with_values_of_positions(ops: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """`ops` with the extreme value after each reduction that gives its position."""
    dtypes = {op.result: op.dtype for op in ops if hasattr(op, "result")}
    result: list[Operation] = []
    for op in ops:
        result.append(op)
        if isinstance(op, Reduce) and op.kind in _VALUE_OF:
            dtype = dtypes[op.args[0]]
            name = f"{op.results[0]}_value"
            result.append(Reduce((name,), _VALUE_OF[op.kind], op.args, (dtype,)))
    return tuple(result)


def flat_output(plan: KernelPlan) -> tuple[IntExpr, IntExpr]:
    """Number of outputs, and the output's number at a point of the parallel axes."""
    count: IntExpr = 1
    flat: IntExpr = 0
    for axis in plan.axes:
        flat = add(mul(axis.extent, flat), axis.name)
        count = mul(count, axis.extent)
    return count, flat


def _pure(stages: tuple[Stage, ...]) -> list[Stage]:
    """Stages without stores and checks: the second kernel runs those."""
    return [PointStage(tuple(op for op in s.ops if not has_effect(op))) for s in stages]


def _combining(
    reduces: list[Reduce], partials: tuple[Partial, ...], slot: IntExpr
) -> LoopStage:
    ops: list[Operation] = []
    later: list[Operation] = []
    number = 0
    for reduce in reduces:
        args = []
        for dtype in reduce.dtypes:
            name = f"partial{number}"
            ops.append(Load(name, partials[number].name, slot, dtype))
            args.append(name)
            number += 1
        if reduce.kind in _VALUE_OF:
            # The next accumulator is the value; its own reduction is of no further use.
            value = f"partial{number}"
            merged = dataclasses.replace(reduce, args=(value,), index=args[0])
        else:
            kind = _COMBINED_BY[reduce.kind]
            merged = Reduce(reduce.results, kind, tuple(args), reduce.dtypes)
        later.append(merged)
    return LoopStage((*ops, *later))


def with_stages(
    plan: KernelPlan,
    stages: list[Stage],
    partials: tuple[Partial, ...],
    axes: tuple[Axis, ...],
    reduction_axes: tuple[Axis, ...],
) -> KernelPlan:
    """`plan` with other stages and axes, and with the buffers and partials that these touch."""
    live = tuple(remove_dead_code(stages))
    read = {op.buffer for s in live for op in s.ops if isinstance(op, Load)}
    written = {op.buffer for s in live for op in s.ops if isinstance(op, Store)}
    own = tuple(
        BufferArgument(p.name, (p.name,), p.dtype, "read", (p.elems,), (1,), p.elems)
        for p in partials
    )
    buffers = tuple(
        dataclasses.replace(b, access=_access(b.name in read, b.name in written))
        for b in (*plan.buffers, *own)
        if b.name in read | written
    )
    return dataclasses.replace(
        plan,
        stages=live,
        buffers=buffers,
        axes=axes,
        reduction_axes=reduction_axes,
    )


def _access(read: bool, written: bool) -> str:
    if read and written:
        return "readwrite"
    return "write" if written else "read"


def divided(
    plan: KernelPlan, original: KernelPlan, axes: tuple[str, ...], cores: int
) -> KernelPlan:
    """`plan` with its division, and a lane axis and tile of axes that it still has."""
    known = {axis.name: axis.extent for axis in (*plan.axes, *plan.reduction_axes)}
    lane = original.lane_axis if original.lane_axis in known else None
    if lane is None and plan.axes:
        lane = plan.axes[-1].name
    kept = tuple(
        (name, _smaller(size, known[name]))
        for name, size in original.tile.extents
        if name in known
    )
    tile = LxTile(kept, original.tile.bytes)
    # Whole steps of lanes on each core need no code for a remainder.
    grain = MAX_LANES if axes and axes[-1] == lane else 1
    return dataclasses.replace(
        plan, division=Division(axes, cores, grain), lane_axis=lane, tile=tile
    )


def _smaller(tile: IntExpr, extent: IntExpr) -> IntExpr:
    if isinstance(tile, int) and isinstance(extent, int):
        return min(tile, extent)
    return tile
