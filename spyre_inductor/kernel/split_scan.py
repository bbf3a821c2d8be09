"""Cuts the scan of a few long rows into three kernels, so that it has more than one core.

The first reduces each slice of a row, the second scans the slices' results (one core, in the first
one's tail), the third scans each slice and combines its points with what the slices before it gave.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from spyre_inductor.plan.expr import IntExpr, add, mul, substitute
from spyre_inductor.plan.kernel_plan import (
    Axis,
    Cast,
    Compute,
    Constant,
    IndexValue,
    KernelPlan,
    Load,
    LoopStage,
    Operation,
    PointStage,
    Reduce,
    Scan,
    Stage,
    Store,
)
from spyre_inductor.plan.operations import has_effect, map_indices

from .split_reduction import (
    SPLIT_AXIS,
    Partial,
    divided,
    flat_output,
    partial_name,
    slices_of,
    with_stages,
)

# Scan kind -> operator that combines two results.
_COMBINING = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}
_TOTALS, _OFFSETS = partial_name(0), partial_name(1)


@dataclass(frozen=True)
class ScanPlans:
    """The three kernels in order; `partials` are arguments of all."""

    totals: KernelPlan
    offsets: KernelPlan
    scan: KernelPlan
    partials: tuple[Partial, ...]


def split_scan(plan: KernelPlan, cores: int) -> ScanPlans | None:
    """The three plans, or None when `plan` is better run as it is.

    Args:
        cores: virtual cores that may be used.
    """
    position = _only_scan(plan)
    axes = (*plan.axes, *plan.reduction_axes)
    if position is None or any(not isinstance(axis.extent, int) for axis in axes):
        return None
    (axis,) = plan.reduction_axes
    splits = slices_of(plan, axis, cores)
    if splits < 2:
        return None
    return _Split(plan, position, axis, splits).plans()


def _only_scan(plan: KernelPlan) -> int | None:
    """Position of the one LoopStage, when it holds one scan that can be cut; else None."""
    loops = [n for n, s in enumerate(plan.stages) if isinstance(s, LoopStage)]
    if len(loops) != 1 or len(plan.reduction_axes) != 1:
        return None
    others = [s for n, s in enumerate(plan.stages) if n != loops[0]]
    if any(has_effect(op) for stage in others for op in stage.ops):
        return None
    ops = plan.stages[loops[0]].ops
    scans = [op for op in ops if isinstance(op, (Scan, Reduce))]
    if len(scans) != 1 or not isinstance(scans[0], Scan):
        return None
    (scan,) = scans
    dtype = scan.dtypes[0]
    # Sums of integers run at the speed of the memory on one core.
    is_slow = dtype != "bool" and (scan.kind != "sum" or dtype.startswith("float"))
    return loops[0] if scan.kind in _COMBINING and is_slow else None


class _Split:
    def __init__(
        self, plan: KernelPlan, position: int, axis: Axis, splits: int
    ) -> None:
        self._plan, self._axis, self._splits = plan, axis, splits
        self._before = plan.stages[:position]
        self._after = plan.stages[position + 1 :]
        moved = {axis.name: add(mul(int(axis.extent) // splits, SPLIT_AXIS), axis.name)}
        self._ops = tuple(
            map_indices(op, lambda e: substitute(e, moved))
            for op in plan.stages[position].ops
        )
        (self._scan,) = (op for op in self._ops if isinstance(op, Scan))
        (self._dtype,) = self._scan.dtypes
        # As scan.h: sums and products of float32 run in float64.
        wide = self._dtype == "float32" and self._scan.kind in ("sum", "prod")
        self._wide = "float64" if wide else self._dtype
        self._outputs, flat = flat_output(plan)
        self._slot: IntExpr = add(flat, mul(SPLIT_AXIS, self._outputs))

    def plans(self) -> ScanPlans:
        slices = Axis(SPLIT_AXIS, self._splits, "parallel")
        short = dataclasses.replace(
            self._axis, extent=int(self._axis.extent) // self._splits
        )
        partials = (
            Partial(_TOTALS, self._wide, mul(self._splits, self._outputs)),
            Partial(_OFFSETS, self._wide, mul(self._splits + 1, self._outputs)),
        )
        sliced = ((slices, *self._plan.axes), (short,))
        totals = self._built(self._totals(), partials, *sliced)
        scan = self._built(self._scanning(), partials, *sliced)
        whole = Axis(SPLIT_AXIS, self._splits, "reduction")
        offsets = self._built(self._joining(), partials, self._plan.axes, (whole,))
        offsets = divided(offsets, self._plan, self._plan.division.axes, 1)
        return ScanPlans(
            divided(totals, self._plan, (SPLIT_AXIS,), self._splits),
            dataclasses.replace(offsets, lane_axis=None),
            divided(scan, self._plan, (SPLIT_AXIS,), self._splits),
            partials,
        )

    def _built(
        self,
        stages: list[Stage],
        partials: tuple[Partial, ...],
        axes: tuple[Axis, ...],
        reduction_axes: tuple[Axis, ...],
    ) -> KernelPlan:
        return with_stages(self._plan, stages, partials, axes, reduction_axes)

    def _widened(self, suffix: str) -> tuple[list[Operation], str]:
        """Operations that give the scanned value in the running type, and its name."""
        (value,) = self._scan.args
        if self._wide == self._dtype:
            return [], value
        name = f"{self._scan.results[0]}_{suffix}"
        return [Cast(name, value, self._wide)], name

    def _totals(self) -> list[Stage]:
        """Each slice reduced; what follows the scan, and stores before it, are left out."""
        end = self._ops.index(self._scan)
        ops = [op for op in self._ops[:end] if not isinstance(op, Store)]
        widened, value = self._widened("wide")
        reduce = Reduce(("total",), self._scan.kind, (value,), (self._wide,))
        store = PointStage((Store(_TOTALS, self._slot, "total"),))
        return [*self._before, LoopStage((*ops, *widened, reduce)), store]

    def _joining(self) -> list[Stage]:
        """The result of all slices up to each one, stored for the slice after it."""
        after = add(self._slot, self._outputs)
        scan = Scan(("joined",), self._scan.kind, ("total",), (self._wide,))
        load = Load("total", _TOTALS, self._slot, self._wide)
        return [LoopStage((load, scan, Store(_OFFSETS, after, "joined")))]

    def _scanning(self) -> list[Stage]:
        (result,) = self._scan.results
        first: list[Operation] = [
            IndexValue("position", SPLIT_AXIS, "int64"),
            Constant("start", 0, "int64"),
            Compute("follows", "gt", ("position", "start"), "bool"),
            Load("earlier", _OFFSETS, self._slot, self._wide, "follows"),
            Constant("nothing", _identity(self._scan.kind, self._wide), self._wide),
            Compute("offset", "where", ("follows", "earlier", "nothing"), self._wide),
        ]
        widened, value = self._widened("wide")
        inner, sum_name = f"{result}_slice", f"{result}_all"
        combined = sum_name if self._wide != self._dtype else result
        operator = _COMBINING[self._scan.kind]
        replaced: list[Operation] = [
            *widened,
            Scan((inner,), self._scan.kind, (value,), (self._wide,)),
            Compute(combined, operator, ("offset", inner), self._wide),
        ]
        if combined != result:
            replaced.append(Cast(result, combined, self._dtype))
        at = self._ops.index(self._scan)
        loop = LoopStage((*self._ops[:at], *replaced, *self._ops[at + 1 :]))
        return [*self._before, PointStage(tuple(first)), loop, *self._after]


def _identity(kind: str, dtype: str) -> int | float | str:
    if kind in ("sum", "prod"):
        number = 0 if kind == "sum" else 1
        return float(number) if dtype.startswith("float") else number
    if dtype.startswith("float"):
        return "-inf" if kind == "max" else "inf"
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    low, high = (
        (0, (1 << bits) - 1)
        if dtype.startswith("u")
        else (-(1 << bits - 1), (1 << bits - 1) - 1)
    )
    return low if kind == "max" else high
