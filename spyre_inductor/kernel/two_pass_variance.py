"""Welford reductions of rows that fit LX become two passes: mean first, then squared distances.

Two sums over a row in LX need no division per element and are as accurate; a row that has to be
computed is kept in LX as float32 between the passes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from spyre_inductor.plan.kernel_plan import (
    Compute,
    Constant,
    Load,
    LoopStage,
    Operation,
    PointStage,
    Reduce,
    Stage,
)


@dataclass(frozen=True)
class TwoPass:
    """Stages without Welford reductions, and the row values the second pass finds in LX."""

    stages: list[Stage]
    staged: tuple[str, ...]


def two_pass_variance(
    stages: Sequence[Stage], points: int, written: set[str], room: int
) -> TwoPass:
    """Rewrites each Welford reduction whose row can be read twice.

    Args:
        points: of the reduction.
        written: buffers that the kernel stores to: not loaded a second time.
        room: how many values may be kept in LX.
    """
    result: list[Stage] = []
    staged: list[str] = []
    for stage in stages:
        if not isinstance(stage, LoopStage):
            result.append(stage)
            continue
        rewrite = _Rewrite(stage, points, written)
        for op in stage.ops:
            rewrite.visit(op, can_stage=len(staged) < room)
        staged += rewrite.staged
        result += rewrite.stages()
    return TwoPass(result, tuple(staged))


class _Rewrite:
    def __init__(self, stage: LoopStage, points: int, written: set[str]) -> None:
        self._points, self._written = points, written
        self._loads = {
            op.result: op
            for op in stage.ops
            if isinstance(op, Load) and op.mask is None and op.buffer not in written
        }
        self._first: list[Operation] = []
        self._between: list[Operation] = []
        self._second: list[Operation] = []
        self.staged: list[str] = []

    def visit(self, op: Operation, can_stage: bool) -> None:
        """Takes over one operation of the loop."""
        if not (isinstance(op, Reduce) and op.kind == "welford"):
            self._first.append(op)
            return
        value = self._second_reading(op.args[0], can_stage)
        if value is None:
            self._first.append(op)
            return
        mean, m2, weight = op.results
        dtype = op.dtypes[0]
        self._first.append(Reduce((f"{mean}_sum",), "sum", op.args, (dtype,)))
        self._between += [
            Constant(weight, float(self._points), dtype),
            Compute(mean, "truediv", (f"{mean}_sum", weight), dtype),
        ]
        self._second += [
            Compute(f"{mean}_dx", "sub", (value, mean), dtype),
            Compute(f"{mean}_dx2", "mul", (f"{mean}_dx", f"{mean}_dx"), dtype),
            Reduce((m2,), "sum", (f"{mean}_dx2",), (dtype,)),
        ]

    def _second_reading(self, value: str, can_stage: bool) -> str | None:
        """Name under which the second pass finds `value`, or None when it cannot."""
        load = self._loads.get(value)
        if load is not None and value not in self.staged:
            again = f"{value}_again"
            if all(getattr(op, "result", "") != again for op in self._second):
                self._second.append(dataclasses.replace(load, result=again))
            return again
        if value in self.staged or can_stage:
            if value not in self.staged:
                self.staged.append(value)
            return value
        return None

    def stages(self) -> list[Stage]:
        """The loop, or the two loops that replace it."""
        if not self._second:
            return [LoopStage(tuple(self._first))]
        return [
            LoopStage(tuple(self._first)),
            PointStage(tuple(self._between)),
            LoopStage(tuple(self._second)),
        ]
