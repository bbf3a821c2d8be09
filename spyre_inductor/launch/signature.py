"""What a launch needs to know about a kernel: the part of a KernelPlan that outlives compilation.

The wrapper writes a signature into the generated code as a literal, so that a process that finds
its kernels in the cache reads no plan.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..plan.expr import IntExpr, IntOp, substitute
from ..plan.kernel_plan import Compute, KernelGroup, KernelPlan, Load, Reduce, Store
from .int_program import compile_int_expr

# Single-threaded estimate per point, in nanoseconds: streaming one byte, and one operation on one
# lane. Only the choice between inline and queued execution depends on it (factor 2 is harmless).
_NS_PER_BYTE = 0.04
_NS_PER_OP = 0.06
_NS_PER_COSTLY_OP = 0.6
_NS_PER_SCALAR_OP = 1.0  # kernels without lanes
_COSTLY = frozenset(
    """exp exp2 expm1 log log2 log10 log1p sin cos tan tanh erf erfc sigmoid pow atan atan2 asin
    acos sinh cosh lgamma digamma rand randn fmod remainder""".split()
)
_BYTES = {"float64": 8, "int64": 8, "uint64": 8, "float32": 4, "int32": 4, "uint32": 4}


@dataclass(frozen=True)
class KernelSignature:
    """Arguments in plan order; `points_code` is a size program over the scalars."""

    name: str
    buffers: tuple[tuple[str, str], ...]  # (name, dtype)
    scalars: tuple[tuple[str, bool], ...]  # (name, passed as the bits of a double)
    cores: int
    cores_fixed: bool  # a split reduction: another kernel reads one partial per core
    workspace_bytes: int
    checks: tuple[str, ...]
    points_code: tuple[int, ...]
    ns_per_point: float


def signature_of(plan: KernelPlan | KernelGroup) -> KernelSignature:
    """Raises PlanError when an axis extent uses a size that is not an argument."""
    if isinstance(plan, KernelGroup):
        return _group_signature(plan)
    scalar_names = [scalar.name for scalar in plan.scalars]
    return KernelSignature(
        name=plan.name,
        buffers=tuple((buffer.name, buffer.dtype) for buffer in plan.buffers),
        scalars=tuple((s.name, s.dtype == "float64") for s in plan.scalars),
        cores=plan.division.cores,
        cores_fixed=not {a.name for a in plan.axes}.issuperset(plan.division.axes),
        workspace_bytes=plan.workspace_bytes,
        checks=plan.checks,
        points_code=compile_int_expr(_points(plan), scalar_names),
        ns_per_point=round(_ns_per_point(plan), 3),
    )


def _group_signature(group: KernelGroup) -> KernelSignature:
    """The kernels' signatures, one after the other; sizes of kernels may share names."""
    members = [signature_of(kernel) for kernel in group.kernels]
    scalars: list[str] = []
    points: list[IntExpr] = []
    for number, member in enumerate(group.kernels):
        names = {s.name: f"m{number}_{s.name}" for s in member.scalars}
        scalars += names.values()
        points.append(substitute(_points(member), names))
    return KernelSignature(
        name=group.name,
        buffers=tuple(
            (f"m{number}_{name}", dtype)
            for number, member in enumerate(members)
            for name, dtype in member.buffers
        ),
        scalars=tuple(
            (f"m{number}_{name}", is_float)
            for number, member in enumerate(members)
            for name, is_float in member.scalars
        ),
        cores=max(member.cores for member in members),
        cores_fixed=False,
        workspace_bytes=0,
        checks=group.checks,
        points_code=compile_int_expr(IntOp("add", tuple(points)), scalars),
        ns_per_point=max(member.ns_per_point for member in members),
    )


def _points(plan: KernelPlan) -> IntExpr:
    """Points visited. An empty reduction still writes its identity, so it counts as one point."""
    extents: list[IntExpr] = [axis.extent for axis in plan.axes]
    if plan.reduction_axes:
        inner: IntExpr = IntOp(
            "mul", (1, *(axis.extent for axis in plan.reduction_axes))
        )
        extents.append(IntOp("max", (1, inner)))
    return IntOp("mul", (1, *extents)) if extents else 1


def _ns_per_point(plan: KernelPlan) -> float:
    dtypes = {buffer.name: buffer.dtype for buffer in plan.buffers}
    per_op = _NS_PER_OP if plan.lane_axis is not None else _NS_PER_SCALAR_OP
    cost = 0.0
    for stage in plan.stages:
        for op in stage.ops:
            if isinstance(op, (Load, Store)):
                cost += _NS_PER_BYTE * _BYTES.get(dtypes[op.buffer], 2)
            if isinstance(op, Compute) and op.op in _COSTLY:
                cost += _NS_PER_COSTLY_OP
            elif isinstance(op, (Compute, Reduce, Load)):
                cost += per_op
            else:
                cost += 0.1 * per_op
    return max(cost, 0.05)
