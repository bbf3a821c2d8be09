"""Stages of a plan -> C++ inside the loops over the parallel axes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from spyre_inductor.errors import PlanError
from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.plan.expr import IntExpr, symbols

from . import cpp_types
from .cascades import block_across, is_cut, is_long_across, is_long_along
from .code_lines import CodeLines
from .index_text import factor_text, index_text, product
from .lane_analysis import LaneAnalysis
from .lane_loops import LANES, is_heavy, is_whole, lane_loop, reducing_loop
from .operations import OperationRenderer, linear_index
from .reductions import Reduction, reduction_of
from .scans import render_scan, scan_state


class StageRenderer:
    """Renders all stages of one plan into `lines`; `headers` gathers what they need."""

    def __init__(self, analysis: LaneAnalysis, lines: CodeLines) -> None:
        self.analysis = analysis
        self.plan = analysis.plan
        self.lines = lines
        self.headers: set[str] = set()
        self._defined_in = {
            name: value.stage for name, value in analysis.values.items()
        }

    def render(self) -> None:
        for number, stage in enumerate(self.plan.stages):
            if isinstance(stage, kp.LoopStage):
                self._loop_stage(number, stage)
            else:
                self._point_stage(number, stage)

    # --- stages -----------------------------------------------------------------------------
    def _point_stage(self, number: int, stage: kp.PointStage) -> None:
        renderer = OperationRenderer(self.analysis, number, self.lines)
        for op in stage.ops:
            renderer.render(op)
        self.headers |= renderer.headers

    def _loop_stage(self, number: int, stage: kp.LoopStage) -> None:
        reductions = self._reductions(stage)
        self.lines.blank()
        self.lines.add(self._comment(number, stage))
        for reduction in reductions:
            self.headers.add(reduction.header)
            self.lines.add(reduction.declaration)
        for op in stage.ops:
            if isinstance(op, kp.Scan):
                for line in scan_state(op, self.analysis):
                    self.lines.add(line)
        blocked = [r.name for r in reductions if r.in_blocks]
        with ExitStack() as stack:
            for opening, closing in self._loops(stage, blocked):
                stack.enter_context(self.lines.block(opening, closing))
            with ExitStack() as lanes:
                for opening, closing in self._lane_loop(stage, reductions):
                    lanes.enter_context(self.lines.block(opening, closing))
                self._loop_body(number, stage, reductions)
            self._end_block(stage, blocked)
        for reduction in reductions:
            for line in reduction.results:
                self.lines.add(line)

    def _reductions(self, stage: kp.LoopStage) -> list[Reduction]:
        axes = self.plan.reduction_axes
        is_long = (
            is_long_across(axes, is_heavy(stage.ops))
            if self.analysis.lanes_reduce
            else is_long_along(axes)
        )
        return [
            reduction_of(op, self.analysis, is_long)
            for op in stage.ops
            if isinstance(op, kp.Reduce)
        ]

    def _loop_body(
        self, number: int, stage: kp.LoopStage, reductions: list[Reduction]
    ) -> None:
        renderer = OperationRenderer(self.analysis, number, self.lines)
        pending = iter(reductions)
        for name in self._staged_inputs(number, stage):
            renderer.declare(name, self._staged_load(name))
        for op in stage.ops:
            if isinstance(op, kp.Reduce):
                self.lines.add(next(pending).step(renderer, is_heavy(stage.ops)))
            elif isinstance(op, kp.Scan):
                render_scan(op, renderer)
            else:
                renderer.render(op)
            for result in _results(op):
                if result in self.plan.tile.staged:
                    self.lines.add(self._staged_store(result))
        self.headers |= renderer.headers

    def _loops(
        self, stage: kp.LoopStage, blocked: list[str]
    ) -> Iterator[tuple[str, str]]:
        """The loops outside of the lanes."""
        lane, block = self._lane(), self._block(stage)
        is_cut_here = lane is not None and is_cut(lane, block)
        if blocked and lane is not None and not is_cut_here:
            self.lines.add(f"i64 {_counter(blocked)} = 0;")
        for axis in self.plan.reduction_axes:
            if axis is not lane:
                extent = factor_text(axis.extent)
                head = f"for (i64 {axis.name} = 0; {axis.name} < {extent}; ++{axis.name}) {{"
                yield head, "}"
        if blocked and lane is not None and is_cut_here:
            head = f"for_blocks(0, {index_text(lane.extent)}, {block}, "
            bounds = f"i64 {lane.name}_from, i64 {lane.name}_to"
            yield f"{head}[&]({bounds}) SPYRE_STEP {{", "});"

    def _lane_loop(
        self, stage: kp.LoopStage, reductions: list[Reduction]
    ) -> Iterator[tuple[str, str]]:
        """The loop over lanes of a reduction axis, if they lie there."""
        lane = self._lane()
        if lane is None:
            return
        heavy = is_heavy(stage.ops)
        if reductions and not heavy:
            loop, parts = reducing_loop(lane.extent, self.analysis.paired), ", int part"
        else:
            loop, parts = (
                lane_loop(is_whole(lane.extent), heavy, self.analysis.paired),
                "",
            )
        bounds = f"0, {index_text(lane.extent)}"
        if any(r.in_blocks for r in reductions) and is_cut(lane, self._block(stage)):
            bounds = f"{lane.name}_from, {lane.name}_to"
        step = f"[&](auto lanes, i64 {lane.name}{parts}) SPYRE_STEP {{"
        yield f"{loop}({bounds}, {step}", "});"

    def _end_block(self, stage: kp.LoopStage, blocked: list[str]) -> None:
        """Closes a block of points outside of the loop over lanes."""
        lane, block = self._lane(), self._block(stage)
        if not blocked or lane is None:
            return
        with ExitStack() as stack:
            if not is_cut(lane, block):  # several runs along the lanes make a block
                counter = _counter(blocked)
                self.lines.add(f"{counter} += {index_text(lane.extent)};")
                head = f"if ({counter} >= {block}) {{"
                stack.enter_context(self.lines.block(head, "}"))
                self.lines.add(f"{counter} = 0;")
            for name in blocked:
                self.lines.add(f"{name}.end_block();")

    @staticmethod
    def _block(stage: kp.LoopStage) -> str:
        return block_across(stage.ops, is_heavy(stage.ops))

    def _lane(self) -> kp.Axis | None:
        """The reduction axis that the lanes lie along, if any."""
        if not self.analysis.lanes_reduce:
            return None
        axes = self.plan.reduction_axes
        return next(axis for axis in axes if axis.name == self.plan.lane_axis)

    def _comment(self, number: int, stage: kp.LoopStage) -> str:
        kinds = [op.kind for op in stage.ops if isinstance(op, (kp.Reduce, kp.Scan))]
        along = " * ".join(axis.name for axis in self.plan.reduction_axes)
        what = f"{', '.join(kinds)} along" if kinds else "once more along"
        return f"// Stage {number}: {what} {along}."

    # --- values kept in LX ------------------------------------------------------------------
    def _staged_inputs(self, number: int, stage: kp.LoopStage) -> list[str]:
        used = [name for op in stage.ops for name in operand_names(op)]
        found = []
        for name in dict.fromkeys(used):
            origin = self._defined_in.get(name, number)
            if origin == number or not isinstance(
                self.plan.stages[origin], kp.LoopStage
            ):
                continue
            if name in self.plan.tile.staged:
                found.append(name)
            elif not self._is_reduced(name, origin):
                raise PlanError(
                    f"{self.plan.name}: {name} of loop stage {origin} is used in stage {number} "
                    f"but is neither reduced nor staged in LX"
                )
        return found

    def _is_reduced(self, name: str, stage: int) -> bool:
        ops = self.plan.stages[stage].ops
        return any(isinstance(op, kp.Reduce) and name in op.results for op in ops)

    def _staged_address(self, name: str) -> str:
        index = linear_index(self.plan.reduction_axes)
        value = self.analysis.value(name)
        if value.varying and not self.analysis.lanes_reduce:
            return f"{name}_lx + {factor_text(index)} * {LANES}"
        return f"{name}_lx + {factor_text(index)}"

    def _staged_load(self, name: str) -> str:
        lanes = self._lanes_argument(name)
        return f"load({lanes}{self._staged_address(name)})"

    def _staged_store(self, name: str) -> str:
        lanes = self._lanes_argument(name)
        return f"store({lanes}{self._staged_address(name)}, {name});"

    def _lanes_argument(self, name: str) -> str:
        if not self.analysis.value(name).varying:
            return ""
        return "lanes, " if self.analysis.lanes_reduce else "Full{}, "


def _results(op: kp.Operation) -> tuple[str, ...]:
    if isinstance(op, (kp.Reduce, kp.Scan)):
        return op.results
    result = getattr(op, "result", None)
    return () if result is None else (result,)


def operand_names(op: kp.Operation) -> Iterator[str]:
    """Names of the SSA values and index symbols that an operation reads."""
    if isinstance(op, (kp.Compute, kp.Random, kp.Reduce, kp.Scan)):
        yield from op.args
    for field in ("value", "mask", "condition", "boundary_index", "sorter_index"):
        name = getattr(op, field, None)
        if isinstance(name, str):
            yield name
    for field in ("index", "expr", "lower", "upper"):
        expr = getattr(op, field, None)
        if expr is not None:
            yield from sorted(symbols(expr))


def staged_declarations(analysis: LaneAnalysis) -> list[str]:
    """One LX row per staged value: points of the reduction axes, times lanes beside it."""
    lines = []
    for name in analysis.plan.tile.staged:
        value = analysis.value(name)
        extents: list[IntExpr] = [axis.extent for axis in analysis.plan.reduction_axes]
        if value.varying and not analysis.lanes_reduce:
            extents.append(LANES)
        kind = cpp_types.memory_type(value.dtype)
        lines.append(f"SPYRE_LX({kind}, {name}_lx, {index_text(product(extents))});")
    return lines


def _counter(blocked: list[str]) -> str:
    """The variable that counts points since the last block of a stage's reductions."""
    return f"{blocked[0]}_points"
