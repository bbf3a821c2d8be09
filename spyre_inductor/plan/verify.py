"""Checks a KernelPlan before anything is rendered from it."""

from __future__ import annotations

from spyre_inductor.errors import PlanError

from . import kernel_plan as kp
from .limits import CORES, LX_BUDGET_BYTES
from .op_table import COMPUTE_OPS
from .operations import results, uses


def verify(plan: kp.KernelPlan) -> kp.KernelPlan:
    """Returns `plan` if it is well formed.

    Raises:
        PlanError: names the kernel, the operation and the broken rule.
    """
    _check_names(plan)
    _check_values(plan)
    _check_schedule(plan)
    return plan


def _fail(plan: kp.KernelPlan, message: str) -> None:
    raise PlanError(f"kernel {plan.name}: {message}")


def _check_names(plan: kp.KernelPlan) -> None:
    names = [b.name for b in plan.buffers] + [s.name for s in plan.scalars]
    names += [a.name for a in (*plan.axes, *plan.reduction_axes)]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        _fail(plan, f"names are used twice: {sorted(repeated)}")
    for axis in plan.axes:
        if axis.kind != "parallel":
            _fail(
                plan, f"axis {axis.name} is of kind {axis.kind!r} among parallel axes"
            )
    for axis in plan.reduction_axes:
        if axis.kind != "reduction":
            _fail(plan, f"axis {axis.name} is of kind {axis.kind!r} among reductions")


def _check_values(plan: kp.KernelPlan) -> None:
    parallel = {a.name for a in plan.axes} | {s.name for s in plan.scalars}
    reduction = {a.name for a in plan.reduction_axes}
    buffers = {b.name: b for b in plan.buffers}
    defined: set[str] = set()
    lasting: set[str] = set()
    for stage in plan.stages:
        in_loop = isinstance(stage, kp.LoopStage)
        if in_loop and not reduction:
            _fail(plan, "a LoopStage without reduction axes")
        visible = set(lasting) | set(plan.tile.staged if in_loop else ())
        for op in stage.ops:
            known = visible | parallel | (reduction if in_loop else set())
            unknown = uses(op) - known
            if unknown:
                _fail(
                    plan, f"{type(op).__name__} uses undefined {sorted(unknown)}: {op}"
                )
            _check_operation(plan, op, buffers, in_loop)
            for name in results(op):
                if name in defined:
                    _fail(plan, f"value {name} is defined twice")
                defined.add(name)
                visible.add(name)
                if not in_loop or isinstance(op, kp.Reduce):
                    lasting.add(name)


def _check_operation(
    plan: kp.KernelPlan,
    op: kp.Operation,
    buffers: dict[str, kp.BufferArgument],
    in_loop: bool,
) -> None:
    if isinstance(op, (kp.Load, kp.Store)) and op.buffer not in buffers:
        _fail(plan, f"{type(op).__name__} of unknown buffer {op.buffer}")
    if isinstance(op, kp.Store) and buffers[op.buffer].access == "read":
        _fail(plan, f"stores to {op.buffer}, which is declared read-only")
    if isinstance(op, (kp.Reduce, kp.Scan)) and not in_loop:
        _fail(plan, f"{type(op).__name__} outside a LoopStage")
    if isinstance(op, (kp.CheckBounds, kp.Assert)) and op.check >= len(plan.checks):
        _fail(plan, f"check {op.check} has no message")
    if isinstance(op, kp.Compute):
        if op.op not in COMPUTE_OPS:
            _fail(plan, f"unknown operator {op.op}")
        if len(op.args) != COMPUTE_OPS[op.op][0]:
            _fail(plan, f"{op.op} has {len(op.args)} operands: {op}")


def _check_schedule(plan: kp.KernelPlan) -> None:
    names = tuple(axis.name for axis in plan.axes)
    division = plan.division
    is_prefix = names[: len(division.axes)] == division.axes
    if not is_prefix:
        _fail(plan, f"division over {division.axes} is no prefix of the axes {names}")
    if not 1 <= division.cores <= CORES:
        _fail(plan, f"division over {division.cores} cores; the card has {CORES}")
    if division.grain < 1:
        _fail(plan, f"division in units of {division.grain} points")
    if plan.tile.bytes > LX_BUDGET_BYTES:
        _fail(
            plan,
            f"a tile of {plan.tile.bytes} bytes exceeds the LX budget of"
            f" {LX_BUDGET_BYTES}; choose smaller tile extents",
        )
    all_axes = set(names) | {axis.name for axis in plan.reduction_axes}
    if plan.lane_axis is not None and plan.lane_axis not in all_axes:
        _fail(plan, f"lane axis {plan.lane_axis} is not an axis")
    tiled = {name for name, _ in plan.tile.extents}
    if tiled - all_axes:
        _fail(plan, f"tile of unknown axes {sorted(tiled - all_axes)}")
