"""Reduce operations -> accumulators: their declaration, one step, and their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from spyre_inductor.errors import PlanError
from spyre_inductor.plan import kernel_plan as kp

from . import cpp_types
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

    declaration: str
    step: Callable[[OperationRenderer], str]
    results: tuple[str, ...]
    header: str


def reduction_of(op: kp.Reduce, analysis: LaneAnalysis) -> Reduction:
    """Text of `op`; raises PlanError for an unknown kind."""
    if op.kind in _SIMPLE:
        return _simple(op, analysis)
    if op.kind in ("argmax", "argmin"):
        return _extreme_position(op, analysis)
    if op.kind in ("welford", "welford_combine"):
        return _moments(op, analysis)
    raise PlanError(f"{analysis.plan.name}: unknown reduction kind {op.kind!r}")


def _type(dtype: str, varying: bool) -> str:
    return cpp_types.lane_type(dtype) if varying else cpp_types.scalar_type(dtype)


def _accumulator(op: kp.Reduce, across: bool, along: str) -> tuple[str, str, str]:
    """Name, type prefix and the leading arguments of add()."""
    name = f"{op.results[0]}_acc"
    return name, "Across" if across else along, "lanes, part, " if across else ""


def _simple(op: kp.Reduce, analysis: LaneAnalysis) -> Reduction:
    across, dtype = analysis.lanes_reduce, op.dtypes[0]
    varying = analysis.value(op.results[0]).varying
    name, kind, leading = _accumulator(op, across, "Along")
    element = cpp_types.scalar_type(dtype) if across else _type(dtype, varying)

    def step(renderer: OperationRenderer) -> str:
        return (
            f"{name}.add({leading}{renderer.operand(op.args[0], across or varying)});"
        )

    result = f"const {_type(dtype, varying)} {op.results[0]} = {name}.result();"
    declaration = f"{kind}<{_SIMPLE[op.kind]}, {element}> {name};"
    return Reduction(declaration, step, (result,), "reduce.h")


def _extreme_position(op: kp.Reduce, analysis: LaneAnalysis) -> Reduction:
    if op.index is None:
        raise PlanError(f"{analysis.plan.name}: {op.kind} of {op.args[0]} has no index")
    across = analysis.lanes_reduce
    varying = analysis.value(op.results[0]).varying
    name, kind, leading = _accumulator(op, across, "Along")
    source = analysis.value(op.args[0])
    element = (
        cpp_types.scalar_type(source.dtype) if across else _type(source.dtype, varying)
    )
    which = "Greatest" if op.kind == "argmax" else "Least"
    index = op.index

    def step(renderer: OperationRenderer) -> str:
        in_lanes = across or varying
        position = renderer.index_lanes(index) if in_lanes else index_text(index)
        return f"{name}.add({leading}{renderer.operand(op.args[0], in_lanes)}, {position});"

    result = f"const {_type('int64', varying)} {op.results[0]} = {name}.position();"
    declaration = f"Position{kind}<{which}, {element}> {name};"
    return Reduction(declaration, step, (result,), "position.h")


def _moments(op: kp.Reduce, analysis: LaneAnalysis) -> Reduction:
    across, dtype = analysis.lanes_reduce, op.dtypes[0]
    varying = analysis.value(op.results[0]).varying
    name, kind, leading = _accumulator(op, across, "Along")
    element = cpp_types.scalar_type(dtype) if across else _type(dtype, varying)
    form = "Moments" if op.kind == "welford" else "MomentsCombine"

    def step(renderer: OperationRenderer) -> str:
        args = ", ".join(renderer.operand(arg, across or varying) for arg in op.args)
        return f"{name}.add({leading}{args});"

    kinds = ("mean", "m2", "weight")
    results = [
        f"const {_type(dtype, varying)} {result} = {name}.{part}();"
        for result, part in zip(op.results, kinds, strict=True)
    ]
    declaration = f"{form}{kind}<{element}> {name};"
    closing = [f"{name}.finish();"] if across else []
    return Reduction(declaration, step, (*closing, *results), "moments.h")
