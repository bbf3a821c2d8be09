"""Reduce operations -> accumulators: their declaration, one step, and their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from spyre_inductor.errors import PlanError
from spyre_inductor.plan import kernel_plan as kp

from . import cpp_types
from .cascades import rounds
from .index_text import index_text
from .lane_analysis import LaneAnalysis
from .operations import OperationRenderer

# Reduce.kind -> combining operation of spyre_kernels/reduce.h
_SIMPLE = {
    "sum": "Sum",
    "prod": "Product",
    "max": "Maximum",
    "min": "Minimum",
    "any": "Any",
    "xor_sum": "XorSum",
}


@dataclass(frozen=True)
class Reduction:
    """Text of one Reduce: before the loop, in the loop (`step`), after the loop."""

    name: str  # of the accumulator
    type: str
    step: Callable[[OperationRenderer, bool], str]
    results: tuple[str, ...]
    header: str
    # Type of the accumulators of a tile of columns ("": an array of `type`).
    of_columns: str = ""
    # Whether each block of points is closed by end_block().
    in_blocks: bool = False

    @property
    def declaration(self) -> str:
        """The accumulator before the loop."""
        return f"{self.type} {self.name};"


def reduction_of(
    op: kp.Reduce, analysis: LaneAnalysis, is_long: bool = False
) -> Reduction:
    """Text of `op`; raises PlanError for an unknown kind.

    Args:
        is_long: takes more points than one accumulator of rounded values should.
    """
    is_long = is_long and rounds(op)
    if op.kind in _SIMPLE:
        return _simple(op, analysis, is_long)
    if op.kind in ("argmax", "argmin"):
        return _extreme_position(op, analysis)
    if op.kind in ("welford", "welford_combine"):
        return _moments(op, analysis, is_long)
    raise PlanError(f"{analysis.plan.name}: unknown reduction kind {op.kind!r}")


def _type(dtype: str, varying: bool) -> str:
    return cpp_types.lane_type(dtype) if varying else cpp_types.scalar_type(dtype)


def _leading(across: bool, one_part: bool) -> str:
    """First arguments of add(): which lanes exist, and the number of the partial result."""
    if not across:
        return ""
    return "lanes, 0, " if one_part else "lanes, part, "


def _simple(op: kp.Reduce, analysis: LaneAnalysis, is_long: bool) -> Reduction:
    across, dtype = analysis.lanes_reduce, op.dtypes[0]
    varying = analysis.value(op.results[0]).varying
    name, kind = f"{op.results[0]}_acc", "Across" if across else "Along"
    element = cpp_types.scalar_type(dtype) if across else _type(dtype, varying)

    def step(renderer: OperationRenderer, one_part: bool) -> str:
        value = renderer.operand(op.args[0], across or varying)
        return f"{name}.add({_leading(across, one_part)}{value});"

    result = f"const {_type(dtype, varying)} {op.results[0]} = {name}.result();"
    accumulator = f"{kind}<{_SIMPLE[op.kind]}, {element}>"
    columns = f"ColumnSums<{element}, " if rounds(op) else ""
    if is_long:
        long = f"LongSum{kind}<{element}>"
        return Reduction(name, long, step, (result,), "cascade.h", columns, across)
    return Reduction(name, accumulator, step, (result,), "reduce.h", columns)


def _extreme_position(op: kp.Reduce, analysis: LaneAnalysis) -> Reduction:
    if op.index is None:
        raise PlanError(f"{analysis.plan.name}: {op.kind} of {op.args[0]} has no index")
    across = analysis.lanes_reduce
    varying = analysis.value(op.results[0]).varying
    name, kind = f"{op.results[0]}_acc", "Across" if across else "Along"
    source = analysis.value(op.args[0])
    element = (
        cpp_types.scalar_type(source.dtype) if across else _type(source.dtype, varying)
    )
    which = "Greatest" if op.kind == "argmax" else "Least"
    index = op.index

    def step(renderer: OperationRenderer, one_part: bool) -> str:
        in_lanes = across or varying
        position = renderer.index_lanes(index) if in_lanes else index_text(index)
        value = renderer.operand(op.args[0], in_lanes)
        return f"{name}.add({_leading(across, one_part)}{value}, {position});"

    result = f"const {_type('int64', varying)} {op.results[0]} = {name}.position();"
    accumulator = f"Position{kind}<{which}, {element}>"
    return Reduction(name, accumulator, step, (result,), "position.h")


def _moments(op: kp.Reduce, analysis: LaneAnalysis, is_long: bool) -> Reduction:
    across, dtype = analysis.lanes_reduce, op.dtypes[0]
    varying = analysis.value(op.results[0]).varying
    name, kind = f"{op.results[0]}_acc", "Across" if across else "Along"
    element = cpp_types.scalar_type(dtype) if across else _type(dtype, varying)
    form = "Moments" if op.kind == "welford" else "MomentsCombine"

    def step(renderer: OperationRenderer, one_part: bool) -> str:
        args = ", ".join(renderer.operand(arg, across or varying) for arg in op.args)
        return f"{name}.add({_leading(across, one_part)}{args});"

    kinds = ("mean", "m2", "weight")
    results = [
        f"const {_type(dtype, varying)} {result} = {name}.{part}();"
        for result, part in zip(op.results, kinds, strict=True)
    ]
    accumulator = f"{'Long' if is_long else ''}{form}{kind}<{element}>"
    columns = f"ColumnMoments<{element}, " if rounds(op) else ""
    closing = [f"{name}.finish();"] if across or is_long else []
    return Reduction(
        name, accumulator, step, (*closing, *results), "moments.h", columns,
        is_long and across,
    )  # fmt: skip
