"""Parallel axes of a plan -> core slice and nested loops.

The division cuts the product of a prefix of the axes into contiguous slices. Points are
independent, so the lane axis is moved innermost within its group: each point is still visited
once, and lanes stay side by side.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from spyre_inductor.errors import PlanError
from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.plan.expr import IntExpr

from .index_text import factor_text, index_text, product
from .lane_loops import has_whole_lanes, is_heavy, lane_loop
from .transposed_reads import (
    TransposedReads,
    block_lines,
    lane_last,
    nest_order,
    transposed_reads,
)


@dataclass(frozen=True)
class LoopNest:
    """Lines that open the nest in order, each with the line that closes it ("" = none)."""

    levels: tuple[tuple[str, str], ...]


def loop_nest(
    plan: kp.KernelPlan,
    by_columns: bool = False,
    paired: Collection[kp.Store] | None = None,
) -> LoopNest:
    """The loops over the parallel axes of `plan`; raises PlanError for an impossible division.

    With `by_columns` the innermost level is tiles of the lane axis, first <= lane < last, instead
    of single steps of lanes. `paired`: the stores of lanes in pairs of steps.
    """
    names = [axis.name for axis in plan.axes]
    divided = list(plan.division.axes)
    if names[: len(divided)] != divided:
        raise PlanError(
            f"{plan.name}: division over {divided} is no prefix of the parallel axes {names}"
        )
    prefix = lane_last(plan.axes[: len(divided)], plan.lane_axis)
    rest = lane_last(plan.axes[len(divided) :], plan.lane_axis)
    reads = None if by_columns else transposed_reads(plan)
    if prefix and len(rest) < 2 and reads is not None:
        return LoopNest((*_slice_levels(plan, prefix), *_grouped(plan, prefix, reads)))
    levels: list[tuple[str, str]] = []
    if not prefix:
        levels.append(("if (core != 0) return;  // One point: nothing to divide.", ""))
    elif prefix[-1].name == plan.lane_axis:
        return LoopNest(tuple(_divided_levels(plan, prefix, rest, by_columns, paired)))
    else:
        levels.extend(_divided_levels(plan, prefix, (), by_columns, paired))
    outer = rest if reads is None else rest[:-2]
    for axis in outer:
        levels.append(
            _loop(axis.name, "0", index_text(axis.extent), plan, by_columns, paired)
        )
    if reads is not None:
        levels.extend(_grouped(plan, (), reads))
    return LoopNest(tuple(levels))


def _loop(
    axis: str,
    begin: str,
    end: str,
    plan: kp.KernelPlan,
    by_columns: bool = False,
    paired: Collection[kp.Store] | None = None,
) -> tuple[str, str]:
    if axis == plan.lane_axis and by_columns:
        return (
            f"for_columns({begin}, {end}, [&](i64 first, i64 last) SPYRE_STEP {{",
            "});",
        )
    if axis == plan.lane_axis:
        ops = (op for stage in plan.stages for op in stage.ops)
        loop = lane_loop(has_whole_lanes(plan), is_heavy(ops), paired)
        return (
            f"{loop}({begin}, {end}, [&](auto lanes, i64 {axis}) SPYRE_STEP {{",
            "});",
        )
    return f"for (i64 {axis} = {begin}; {axis} < {end}; ++{axis}) {{", "}"


def _divided_levels(
    plan: kp.KernelPlan,
    prefix: tuple[kp.Axis, ...],
    rest: tuple[kp.Axis, ...],
    by_columns: bool,
    paired: Collection[kp.Store] | None,
) -> list[tuple[str, str]]:
    levels = _slice_levels(plan, prefix)
    last = prefix[-1]
    if len(prefix) == 1:
        begin, end = "slice.begin", "slice.end"
    else:
        extent = index_text(last.extent)
        levels.append((f"for_runs(slice, {extent}, [&](Run run) SPYRE_STEP {{", "});"))
        levels.extend((line, "") for line in _decode(prefix[:-1]))
        begin, end = "run.begin", "run.end"
    # `rest` is not empty when `last` holds the lanes: they stay innermost.
    inner = [_loop(axis.name, "0", index_text(axis.extent), plan) for axis in rest]
    innermost = _loop(last.name, begin, end, plan, by_columns, paired)
    return [*levels, *inner, innermost]


def _slice_levels(
    plan: kp.KernelPlan, prefix: tuple[kp.Axis, ...]
) -> list[tuple[str, str]]:
    points = product([axis.extent for axis in prefix])
    grain = plan.division.grain
    over = " * ".join(axis.name for axis in prefix)
    return [
        (f"// Cores: {over}, in units of {grain}.", ""),
        (
            f"const Slice slice = core_slice({index_text(points)}, {grain}, core, cores);",
            "",
        ),
    ]


def _grouped(
    plan: kp.KernelPlan, prefix: tuple[kp.Axis, ...], reads: TransposedReads
) -> list[tuple[str, str]]:
    """A few rows together, lanes outside: each line read across is used for all rows.

    `prefix` holds the divided axes when the rows are among them.
    """
    beside, lane = nest_order(plan)[-2:]
    rows, extent = index_text(beside.extent), index_text(lane.extent)
    if prefix and prefix[-1] == lane:
        head = f"for_run_groups(slice, {extent}, {rows}, "
        step = "[&](i64 first, i64 last, i64 begin, i64 end) SPYRE_STEP {"
        bounds, axes = ("begin", "end"), prefix[:-1]
    else:
        begin, end = ("slice.begin", "slice.end") if prefix else ("0", rows)
        head = f"for_row_groups({begin}, {end}, {rows}, "
        step = "[&](i64 first, i64 last) SPYRE_STEP {"
        bounds, axes = ("0", extent), prefix or (beside,)
    levels = [(head + step, "});"), _loop(lane.name, *bounds, plan)]
    if reads.loads:
        lines = [*_decode(axes, "first"), *block_lines(plan, reads)]
        levels += [(line, "") for line in lines]
    levels.append(("for (i64 outer = first; outer < last; ++outer) {", "}"))
    return levels + [(line, "") for line in _decode(axes, "outer")]


def _decode(axes: tuple[kp.Axis, ...], outer: str = "run.outer") -> list[str]:
    """Positions of `axes` from the number `outer` of their row-major point."""
    if len(axes) == 1:
        return [f"const i64 {axes[0].name} = {outer};"]
    lines = []
    inner: IntExpr = 1
    for axis in reversed(axes):
        value = outer if inner == 1 else f"{outer} / {factor_text(inner)}"
        if axis is not axes[0]:
            value = f"{value} % {factor_text(axis.extent)}"
        lines.append(f"const i64 {axis.name} = {value};")
        inner = product([inner, axis.extent])
    return lines
