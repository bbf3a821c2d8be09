"""Records the operations of one kernel into stages while Inductor walks its nodes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from spyre_inductor.errors import PlanError
from spyre_inductor.plan.kernel_plan import (
    LoopStage,
    Operation,
    PointStage,
    Stage,
    Store,
)

from .values import AFTER_LOOP, BEFORE_LOOP, IN_LOOP


@dataclass(frozen=True)
class PendingStore(Store):
    """A Store that vanishes when Inductor later finds its buffer `graph_name` unneeded."""

    graph_name: str = ""


class Recorder:
    """Three lists per reduction loop: what runs before it, in it, and after it.

    `end_stage` turns them into PointStage, LoopStage, PointStage. Code outside of a reduction loop
    goes to the first list only.
    """

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._lists: tuple[list[Operation], ...] = ([], [], [])
        self._region: list[Operation] | None = None
        self._stored_here: set[str] = set()

    def append(self, op: Operation, place: int) -> None:
        """Adds `op` at `place` (BEFORE_LOOP, IN_LOOP or AFTER_LOOP) of the current loop."""
        if self._region is not None:
            self._region.append(op)
            return
        if isinstance(op, Store):
            self._stored_here.add(op.buffer)
        self._lists[place].append(op)

    def was_stored_here(self, buffer: str) -> bool:
        """Whether the current stage has stored to `buffer`, so that a load must not move."""
        return buffer in self._stored_here

    @contextlib.contextmanager
    def region(self) -> Iterator[list[Operation]]:
        """Diverts operations into the returned list (the body of a scan's combine function)."""
        if self._region is not None:
            raise PlanError("a combine region inside a combine region")
        self._region = []
        try:
            yield self._region
        finally:
            self._region = None

    def end_stage(self) -> None:
        """Closes the current loop (or straight-line section)."""
        before, in_loop, after = self._lists
        if before:
            self._add_point_stage(before)
        if in_loop:
            self.stages.append(LoopStage(tuple(in_loop)))
        if after:
            self._add_point_stage(after)
        self._lists = ([], [], [])
        self._stored_here.clear()

    def _add_point_stage(self, ops: list[Operation]) -> None:
        if self.stages and isinstance(self.stages[-1], PointStage):
            ops = [*self.stages.pop().ops, *ops]
        self.stages.append(PointStage(tuple(ops)))


def combined_place(places: list[int]) -> int:
    """Place of an operation whose operands live at `places`.

    Raises:
        PlanError: when one operand differs per reduction point and another needs the loop's result.
    """
    if IN_LOOP in places and AFTER_LOOP in places:
        raise PlanError("a value inside a reduction loop uses that loop's own result")
    return max(places, default=BEFORE_LOOP)
