"""Checks a KernelPlan before anything is rendered from it."""

from __future__ import annotations

from collections.abc import Iterator

from spyre_inductor.errors import PlanError

from . import kernel_plan as kp
from .access_rules import access_problems
from .expr import IntExpr, symbols
from .limits import CORES, LX_BUDGET_BYTES
from .op_table import COMPUTE_OPS
from .operations import results, uses
from .typing_rules import COMPUTE_TYPES, typing_error


def verify(plan: kp.KernelPlan) -> kp.KernelPlan:
    """Returns `plan` if it is well formed.

    Raises:
        PlanError: names the kernel, the operation and the broken rule.
    """
    for problem in problems(plan):
        raise PlanError(f"kernel {plan.name}: {problem}")
    return plan


def verify_group(group: kp.KernelGroup) -> kp.KernelGroup:
    """Returns `group` if its members may run at the same time, and its tail on one core.

    Raises:
        PlanError: names the group, the members and the broken rule.
    """
    for problem in _group_problems(group):
        raise PlanError(f"kernel group {group.name}: {problem}")
    return group


def _group_problems(group: kp.KernelGroup) -> Iterator[str]:
    if len(group.kernels) < 2 or not group.members:
        yield "a group of one kernel is a kernel"
    for kernel in group.kernels:
        if kernel.workspace_bytes:
            yield f"{kernel.name} has a workspace"
    for kernel in group.tail:
        if kernel.division.cores != 1:
            cores = kernel.division.cores
            yield f"{kernel.name} is of the tail, but divided over {cores} cores"
    touched: set[str] = set()
    written: set[str] = set()
    for member in group.members:
        accessed, stored = graph_buffers(member)
        shared = (stored & touched) | (accessed & written)
        if shared:
            yield f"{member.name} and an earlier member share {sorted(shared)}"
        touched |= accessed
        written |= stored


def graph_buffers(plan: kp.KernelPlan) -> tuple[set[str], set[str]]:
    """Graph buffers that `plan` accesses, and those of them that it changes."""
    accessed = {name for b in plan.buffers for name in b.buffers}
    changed = {name for b in plan.buffers if b.access != "read" for name in b.buffers}
    return accessed, changed


def problems(plan: kp.KernelPlan) -> Iterator[str]:
    """Everything that is wrong with `plan`, in words."""
    yield from _name_problems(plan)
    yield from _size_problems(plan)
    yield from _value_problems(plan)
    yield from _schedule_problems(plan)
    yield from access_problems(plan)


def _name_problems(plan: kp.KernelPlan) -> Iterator[str]:
    names = [b.name for b in plan.buffers] + [s.name for s in plan.scalars]
    names += [a.name for a in (*plan.axes, *plan.reduction_axes)]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        yield f"names are used twice: {sorted(repeated)}"
    for axes, kind in ((plan.axes, "parallel"), (plan.reduction_axes, "reduction")):
        for axis in axes:
            if axis.kind != kind:
                yield f"axis {axis.name} is of kind {axis.kind!r} among {kind} axes"


def _size_problems(plan: kp.KernelPlan) -> Iterator[str]:
    """Sizes that no argument gives."""
    known = {s.name for s in plan.scalars if s.dtype == "int64"}
    sizes: list[tuple[str, IntExpr]] = [
        (f"the extent of axis {axis.name}", axis.extent)
        for axis in (*plan.axes, *plan.reduction_axes)
    ]
    for buffer in plan.buffers:
        of_buffer = (*buffer.shape, *buffer.strides, buffer.storage_elems)
        sizes += [(f"the size of buffer {buffer.name}", size) for size in of_buffer]
    sizes += [(f"the tile of axis {name}", size) for name, size in plan.tile.extents]
    for what, size in sizes:
        unbound = symbols(size) - known
        if unbound:
            yield (
                f"{what} depends on {sorted(unbound)}, which no scalar argument gives;"
                f" the arguments give {sorted(known)}"
            )


def _value_problems(plan: kp.KernelPlan) -> Iterator[str]:
    """Undefined and repeated names, misplaced operations, wrong types."""
    outside = {a.name for a in plan.axes} | {s.name for s in plan.scalars}
    reduction = {a.name for a in plan.reduction_axes}
    types: dict[str, str] = {}
    lasting: set[str] = set()
    for stage in plan.stages:
        in_loop = isinstance(stage, kp.LoopStage)
        if in_loop and not reduction:
            yield "a LoopStage without reduction axes"
        visible = lasting | outside | (reduction if in_loop else set())
        visible |= set(types) & set(plan.tile.staged) if in_loop else set()
        for op in stage.ops:
            unknown = uses(op) - visible
            if unknown:
                yield f"{type(op).__name__} uses undefined {sorted(unknown)}: {op}"
                continue
            yield from _operation_problems(plan, op, types, in_loop)
            for name, dtype in zip(results(op), _result_types(op)):
                if name in types:
                    yield f"value {name} is defined twice"
                types[name] = dtype
                visible.add(name)
                if not in_loop or isinstance(op, kp.Reduce):
                    lasting.add(name)


def _result_types(op: kp.Operation) -> tuple[str, ...]:
    if isinstance(op, (kp.Reduce, kp.Scan)):
        return op.dtypes
    dtype = getattr(op, "dtype", None)
    return () if dtype is None else (dtype,)


def _operation_problems(
    plan: kp.KernelPlan, op: kp.Operation, types: dict[str, str], in_loop: bool
) -> Iterator[str]:
    buffers = {b.name: b for b in plan.buffers}
    kind = type(op).__name__
    if isinstance(op, (kp.Load, kp.Store)) and op.buffer not in buffers:
        yield f"{kind} of unknown buffer {op.buffer}"
    elif isinstance(op, kp.Store) and buffers[op.buffer].access == "read":
        yield f"stores to {op.buffer}, which is declared read-only"
    elif isinstance(op, kp.Load) and buffers[op.buffer].access == "write":
        yield f"loads from {op.buffer}, which is declared write-only"
    if isinstance(op, (kp.Reduce, kp.Scan)) and not in_loop:
        yield f"{kind} outside a LoopStage"
    if isinstance(op, (kp.CheckBounds, kp.Assert)) and op.check >= len(plan.checks):
        yield f"check {op.check} has no message"
    for dtype in _result_types(op):
        if dtype not in COMPUTE_TYPES:
            yield f"{kind} gives {dtype}, which is not a compute type: {op}"
    if isinstance(op, kp.Compute):
        yield from _compute_problems(op, types)


def _compute_problems(op: kp.Compute, types: dict[str, str]) -> Iterator[str]:
    if op.op not in COMPUTE_OPS:
        yield f"unknown operator {op.op}"
        return
    error = typing_error(op.op, [types[name] for name in op.args], op.dtype)
    if error:
        yield f"{op.op} {error}: {op}"


def _schedule_problems(plan: kp.KernelPlan) -> Iterator[str]:
    names = tuple(axis.name for axis in plan.axes)
    division = plan.division
    if names[: len(division.axes)] != division.axes:
        yield f"division over {division.axes} is no prefix of the axes {names}"
    if not 1 <= division.cores <= CORES:
        yield f"division over {division.cores} cores; the card has {CORES}"
    if division.cores > 1 and not division.axes:
        yield f"{division.cores} cores divide no axis: each would do all the work"
    if division.grain < 1:
        yield f"division in units of {division.grain} points"
    if plan.tile.bytes > LX_BUDGET_BYTES:
        yield (
            f"a tile of {plan.tile.bytes} bytes exceeds the LX budget of"
            f" {LX_BUDGET_BYTES}; choose smaller tile extents or stage less"
        )
    all_axes = set(names) | {axis.name for axis in plan.reduction_axes}
    if plan.lane_axis is not None and plan.lane_axis not in all_axes:
        yield f"lane axis {plan.lane_axis} is not an axis"
    tiled = {name for name, _ in plan.tile.extents}
    if tiled - all_axes:
        yield f"tile of unknown axes {sorted(tiled - all_axes)}"
