"""Short ways to write KernelPlans by hand."""

from __future__ import annotations

from collections.abc import Sequence

from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.plan.expr import IntExpr, IntOp


def add(*terms: IntExpr) -> IntExpr:
    """Sum of index expressions."""
    return IntOp("add", terms)


def mul(*factors: IntExpr) -> IntExpr:
    """Product of index expressions."""
    return IntOp("mul", factors)


def row_major(axes: Sequence[tuple[str, IntExpr]]) -> IntExpr:
    """Contiguous index over (axis name, extent) pairs, outermost first."""
    terms: list[IntExpr] = []
    stride: IntExpr = 1
    for name, extent in reversed(axes):
        terms.append(name if stride == 1 else mul(name, stride))
        both_known = isinstance(stride, int) and isinstance(extent, int)
        stride = stride * extent if both_known else mul(stride, extent)
    terms.reverse()
    return terms[0] if len(terms) == 1 else add(*terms)


def buffer(
    name: str, dtype: str, access: str = "read", shape: Sequence[IntExpr] = (1,)
) -> kp.BufferArgument:
    """A contiguous buffer argument."""
    strides: list[IntExpr] = []
    size: IntExpr = 1
    for extent in reversed(shape):
        strides.insert(0, size)
        both_known = isinstance(size, int) and isinstance(extent, int)
        size = size * extent if both_known else mul(size, extent)
    return kp.BufferArgument(
        name,
        (name.replace("ptr", "buf"),),
        dtype,
        access,
        tuple(shape),
        tuple(strides),
        size,
    )


def parallel(**extents: IntExpr) -> tuple[kp.Axis, ...]:
    """Parallel axes, outermost first."""
    return tuple(kp.Axis(name, extent, "parallel") for name, extent in extents.items())


def reduction(**extents: IntExpr) -> tuple[kp.Axis, ...]:
    """Reduction axes, outermost first."""
    return tuple(kp.Axis(name, extent, "reduction") for name, extent in extents.items())


def kernel(
    name: str,
    buffers: Sequence[kp.BufferArgument],
    stages: Sequence[kp.Stage],
    axes: Sequence[kp.Axis],
    reduction_axes: Sequence[kp.Axis] = (),
    lane_axis: str | None = None,
    divided: int = 1,
    grain: int = 1,
    staged: Sequence[str] = (),
    checks: Sequence[str] = (),
    scalars: Sequence[kp.ScalarArgument] = (),
    sources: Sequence[kp.SourceNote] = (),
) -> kp.KernelPlan:
    """A plan whose first `divided` parallel axes are cut over 32 cores."""
    extents = tuple((axis.name, axis.extent) for axis in (*axes, *reduction_axes))
    return kp.KernelPlan(
        name=name,
        template="loops",
        buffers=tuple(buffers),
        scalars=tuple(scalars),
        axes=tuple(axes),
        reduction_axes=tuple(reduction_axes),
        stages=tuple(stages),
        division=kp.Division(tuple(axis.name for axis in axes[:divided]), 32, grain),
        tile=kp.LxTile(extents, 4096, tuple(staged)),
        lane_axis=lane_axis,
        checks=tuple(checks),
        sources=tuple(sources),
    )


def pointwise(
    name: str,
    inputs: Sequence[tuple[str, str]],
    ops: Sequence[kp.Operation],
    output: tuple[str, str],
    size: IntExpr = 37,
    grain: int = 16,
) -> kp.KernelPlan:
    """One flat axis x0: loads `in_ptr<i>` as `a<i>` of (memory, compute) types, then `ops`, then
    stores value `y` to `out_ptr0` of type output[0]."""
    buffers = [
        buffer(f"in_ptr{i}", memory, "read", (size,))
        for i, (memory, _) in enumerate(inputs)
    ]
    buffers.append(buffer("out_ptr0", output[0], "write", (size,)))
    loads = [
        kp.Load(f"a{i}", f"in_ptr{i}", "x0", compute)
        for i, (_, compute) in enumerate(inputs)
    ]
    stage = kp.PointStage((*loads, *ops, kp.Store("out_ptr0", "x0", "y")))
    return kernel(
        name, buffers, [stage], parallel(x0=size), lane_axis="x0", grain=grain
    )
