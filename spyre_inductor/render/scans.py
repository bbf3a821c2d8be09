"""Scan operations -> running state before the loop and its step inside the loop."""

from __future__ import annotations

from collections.abc import Iterator

from spyre_inductor.errors import PlanError
from spyre_inductor.plan import kernel_plan as kp

from . import cpp_types
from .lane_analysis import LaneAnalysis
from .operations import OperationRenderer

_NAMED = {"sum": "Sum", "prod": "Product", "max": "Maximum", "min": "Minimum"}


def scan_state(op: kp.Scan, analysis: LaneAnalysis) -> Iterator[str]:
    """Lines before the loop; raises PlanError for a kind without a combine region."""
    across = analysis.lanes_reduce
    if across and analysis.plan.reduction_axes[-1].name != analysis.plan.lane_axis:
        raise PlanError(
            f"{analysis.plan.name}: a scan across lanes needs them on the innermost "
            f"reduction axis, not on {analysis.plan.lane_axis}"
        )
    if op.kind in _NAMED:
        form = "ScanAcross" if across else "ScanAlong"
        kind = _type(op.results[0], analysis, scalar=across)
        yield f"{form}<{_NAMED[op.kind]}, {kind}> {op.results[0]}_scan;"
        return
    if op.kind != "region" or not op.combine_results:
        raise PlanError(
            f"{analysis.plan.name}: scan kind {op.kind!r} has no combine region"
        )
    yield f"bool {op.results[0]}_started = false;"
    for result in op.results:
        yield f"{_type(result, analysis, scalar=across)} {result}_last{{}};"


def render_scan(op: kp.Scan, renderer: OperationRenderer) -> None:
    """The step inside the loop; defines the results."""
    renderer.headers.add("scan.h")
    analysis, lines = renderer.analysis, renderer.lines
    across = analysis.lanes_reduce
    if op.kind in _NAMED:
        (result,) = op.results
        argument = renderer.operand(op.args[0], analysis.value(result).varying)
        leading = "lanes, " if across else ""
        renderer.declare(result, f"{result}_scan.next({leading}{argument})")
        return
    if not across:
        _region_step(
            op, renderer, [renderer.operand(a, _varies(op, analysis)) for a in op.args]
        )
        for result in op.results:
            renderer.declare(result, f"{result}_last")
        return
    for result, argument in zip(op.results, op.args):
        lines.add(f"auto {result}_at = as_array({renderer.operand(argument, True)});")
    with lines.block("for (i64 k = 0; k < lanes.count; ++k) {", "}"):
        _region_step(op, renderer, [f"{result}_at.x[k]" for result in op.results])
        for result in op.results:
            lines.add(f"{result}_at.x[k] = {result}_last;")
    for result in op.results:
        renderer.declare(result, f"from_lanes({result}_at)")


def _varies(op: kp.Scan, analysis: LaneAnalysis) -> bool:
    return analysis.value(op.results[0]).varying


def _type(name: str, analysis: LaneAnalysis, scalar: bool) -> str:
    value = analysis.value(name)
    if scalar or not value.varying:
        return cpp_types.scalar_type(value.dtype)
    return cpp_types.lane_type(value.dtype)


def _region_step(op: kp.Scan, renderer: OperationRenderer, points: list[str]) -> None:
    """Combines the last results with one point; the first point starts the scan."""
    lines = renderer.lines
    started = f"{op.results[0]}_started"
    with lines.block(f"if ({started}) {{", "}"):
        for name, result in zip(op.lhs, op.results):
            renderer.declare(name, f"{result}_last")
        for name, point in zip(op.rhs, points):
            renderer.declare(name, point)
        for inner in op.combine:
            renderer.render(inner)
        varying = _varies(op, renderer.analysis) and not renderer.analysis.lanes_reduce
        for result, combined in zip(op.results, op.combine_results):
            lines.add(f"{result}_last = {renderer.operand(combined, varying)};")
    with lines.block("else {", "}"):
        for result, point in zip(op.results, points):
            lines.add(f"{result}_last = {point};")
        lines.add(f"{started} = true;")
