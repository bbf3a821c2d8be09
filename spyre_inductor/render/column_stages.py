"""Column reductions: rows of memory one after another, accumulators of a tile of columns in LX.

Lanes lie along a parallel axis and one loop stage reduces. Taking 16 columns down all rows would
touch a new page per row; instead each row of a tile is read in order, kRowGroup rows at a time, and
the running results of the tile stay in the first-level cache.
"""

from __future__ import annotations

from contextlib import ExitStack

from spyre_inductor.plan import kernel_plan as kp

from .cascades import column_levels
from .code_lines import CodeLines
from .index_text import factor_text
from .lane_analysis import LaneAnalysis
from .lane_loops import has_whole_lanes, lane_loop
from .operations import OperationRenderer
from .reductions import Reduction, reduction_of


def reduces_columns(analysis: LaneAnalysis) -> bool:
    """Whether a plan has the form that this file renders."""
    plan = analysis.plan
    loops = [
        n for n, stage in enumerate(plan.stages) if isinstance(stage, kp.LoopStage)
    ]
    if analysis.lanes_reduce or plan.lane_axis is None or len(loops) != 1:
        return False
    (position,) = loops
    reduces = [op for op in plan.stages[position].ops if isinstance(op, kp.Reduce)]
    if not reduces or any(isinstance(op, kp.Scan) for op in plan.stages[position].ops):
        return False
    results = [name for op in reduces for name in op.results]
    earlier = [value for value in analysis.values.values() if value.stage < position]
    return (
        all(analysis.value(name).varying for name in results)
        and not any(value.varying for value in earlier)
        and not any(_has_effect(stage) for stage in plan.stages[:position])
    )


def _has_effect(stage: kp.Stage) -> bool:
    return any(
        isinstance(op, (kp.Store, kp.CheckBounds, kp.Assert)) for op in stage.ops
    )


class ColumnRenderer:
    """Renders the stages of one plan inside the tiles of its lane axis."""

    def __init__(self, analysis: LaneAnalysis, lines: CodeLines) -> None:
        self.analysis = analysis
        self.plan = analysis.plan
        self.lines = lines
        self.headers: set[str] = set()

    def render(self) -> None:
        after: list[tuple[int, kp.Stage]] = []
        reductions: list[Reduction] = []
        for number, stage in enumerate(self.plan.stages):
            if isinstance(stage, kp.LoopStage):
                reductions = self._loop_stage(number, stage)
            elif reductions:
                after.append((number, stage))
            else:
                self._operations(number, stage)
        self._finish(reductions, after)

    def _operations(self, number: int, stage: kp.Stage) -> None:
        renderer = OperationRenderer(self.analysis, number, self.lines)
        for op in stage.ops:
            renderer.render(op)
        self.headers |= renderer.headers

    def _lanes(self) -> tuple[str, str]:
        lane = self.plan.lane_axis
        loop = lane_loop(has_whole_lanes(self.plan), heavy=False)
        return (
            f"{loop}(first, last, [&](auto lanes, i64 {lane}) SPYRE_STEP {{",
            "});",
        )

    def _loop_stage(self, number: int, stage: kp.LoopStage) -> list[Reduction]:
        reduces = [op for op in stage.ops if isinstance(op, kp.Reduce)]
        reductions = [reduction_of(op, self.analysis) for op in reduces]
        kinds = ", ".join(op.kind for op in reduces)
        along = " * ".join(axis.name for axis in self.plan.reduction_axes)
        self.lines.add(
            f"// Stage {number}: {kinds} along {along}, results of the tile in LX."
        )
        for reduction in reductions:
            self.headers.add(reduction.header)
            self.lines.add(self._declaration(reduction))
        *outer, last = self.plan.reduction_axes
        row, extent = last.name, factor_text(last.extent)
        with ExitStack() as stack:
            enter = stack.enter_context
            for axis in outer:
                head = (
                    f"i64 {axis.name} = 0; {axis.name} < {factor_text(axis.extent)}; "
                )
                enter(self.lines.block(f"for ({head}++{axis.name}) {{", "}"))
            head = f"i64 {row}_from = 0; {row}_from < {extent}; {row}_from += kRowGroup"
            enter(self.lines.block(f"for ({head}) {{", "}"))
            self.lines.add(
                f"const i64 {row}_to = least({row}_from + kRowGroup, {extent});"
            )
            with self.lines.block(*self._lanes()):
                self._row_group(number, stage, reductions, row)
            for reduction in reductions:
                if reduction.of_columns:
                    self.lines.add(f"{reduction.name}s.end_group();")
        return reductions

    def _row_group(
        self, number: int, stage: kp.LoopStage, reductions: list[Reduction], row: str
    ) -> None:
        position = f"({self.plan.lane_axis} - first) / kLanes"
        for reduction in reductions:
            taken = f".open({position})" if reduction.of_columns else f"[{position}]"
            self.lines.add(f"auto {reduction.name} = {reduction.name}s{taken};")
        head = f"for (i64 {row} = {row}_from; {row} < {row}_to; ++{row}) {{"
        renderer = OperationRenderer(self.analysis, number, self.lines)
        pending = iter(reductions)
        with self.lines.block(head, "}"):
            for op in stage.ops:
                if isinstance(op, kp.Reduce):
                    self.lines.add(next(pending).step(renderer, False))
                else:
                    renderer.render(op)
        self.headers |= renderer.headers
        for reduction in reductions:
            if reduction.of_columns:
                self.lines.add(
                    f"{reduction.name}s.close({position}, {reduction.name});"
                )
            else:
                self.lines.add(f"{reduction.name}s[{position}] = {reduction.name};")

    def _declaration(self, reduction: Reduction) -> str:
        """The accumulators of a tile, one per step of lanes."""
        if not reduction.of_columns:
            return f"{reduction.type} {reduction.name}s[kColumnTile / kLanes];"
        self.headers.add("cascade.h")
        levels = column_levels(self.plan.reduction_axes)
        return f"{reduction.of_columns}{levels}> {reduction.name}s(last - first);"

    def _finish(
        self, reductions: list[Reduction], after: list[tuple[int, kp.Stage]]
    ) -> None:
        position = f"({self.plan.lane_axis} - first) / kLanes"
        with self.lines.block(*self._lanes()):
            for reduction in reductions:
                found = (
                    f".total({position})" if reduction.of_columns else f"[{position}]"
                )
                self.lines.add(
                    f"const auto {reduction.name} = {reduction.name}s{found};"
                )
                for line in reduction.results:
                    self.lines.add(line)
            for number, stage in after:
                self._operations(number, stage)
