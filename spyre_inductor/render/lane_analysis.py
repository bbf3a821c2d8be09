"""Which SSA values differ between the 16 lanes of a step, and which are one scalar.

Lanes run along plan.lane_axis. Where that is a reduction axis they exist in loop stages only;
where it is a parallel axis they exist everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from spyre_inductor.errors import PlanError
from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.plan.expr import IntExpr, symbols

from .nan_payloads import clear_nans
from .transposed_reads import transposed_reads


@dataclass(frozen=True)
class Value:
    """An SSA value: its compute dtype, whether it differs by lane, the stage that defines it."""

    name: str
    dtype: str
    varying: bool
    stage: int


class LaneAnalysis:
    """Value of every SSA name of one plan; raises PlanError for a use before its definition."""

    def __init__(self, plan: kp.KernelPlan) -> None:
        self.plan = plan
        self.values: dict[str, Value] = {}
        # Results of casts that round a float32 and leave it one.
        self.rounded_from: dict[str, kp.Cast] = {}
        # Exponentials, and float32 sums of them: what a softmax divides.
        self._exponentials: set[str] = set()
        self._totals: dict[str, str] = {}
        # Numbers of the stores along the lanes if those run in pairs (paired_lanes.py).
        self.paired: dict[kp.Store, int] | None = None
        self.clear_nans = clear_nans(plan)
        self.lanes_reduce = plan.lane_axis in {
            axis.name for axis in plan.reduction_axes
        }
        self._memory = {argument.name: argument.dtype for argument in plan.buffers}
        reads = transposed_reads(plan)
        # Results of loads that take their row of a turned block.
        self.turned = {load.result for load in reads.loads} if reads else set()
        for number, stage in enumerate(plan.stages):
            for op in stage.ops:
                self._visit(op, number)

    def lanes_in(self, stage: int) -> bool:
        """Whether the operations of a stage run in lanes."""
        if self.plan.lane_axis is None:
            return False
        return not self.lanes_reduce or isinstance(
            self.plan.stages[stage], kp.LoopStage
        )

    def value(self, name: str) -> Value:
        try:
            return self.values[name]
        except KeyError:
            raise PlanError(
                f"{self.plan.name}: {name} is used before it is defined"
            ) from None

    def depends_on_lane(self, expr: IntExpr, stage: int) -> bool:
        """Whether an index expression differs between lanes."""
        names = symbols(expr)
        if self.lanes_in(stage) and self.plan.lane_axis in names:
            return True
        return any(self.values[n].varying for n in names if n in self.values)

    def memory_dtype(self, buffer: str) -> str:
        try:
            return self._memory[buffer]
        except KeyError:
            raise PlanError(f"{self.plan.name}: unknown buffer {buffer}") from None

    def _define(self, name: str, dtype: str, varying: bool, stage: int) -> None:
        if name in self.values:
            raise PlanError(f"{self.plan.name}: {name} is defined twice")
        self.values[name] = Value(name, dtype, varying, stage)

    def _any_varying(self, names: tuple[str | None, ...]) -> bool:
        return any(self.value(name).varying for name in names if name is not None)

    def _visit(self, op: kp.Operation, stage: int) -> None:
        if isinstance(op, kp.Reduce):
            self._visit_reduce(op, stage)
        elif isinstance(op, kp.Scan):
            self._visit_scan(op, stage)
        elif isinstance(op, kp.IndexValue):
            varying = self.depends_on_lane(op.expr, stage)
            self._define(op.result, op.dtype, varying, stage)
        elif isinstance(op, kp.Load):
            varying = self.depends_on_lane(op.index, stage)
            varying = varying or self._any_varying((op.mask,))
            self._define(op.result, op.dtype, varying, stage)
        elif not isinstance(op, (kp.CheckBounds, kp.Assert, kp.Store)):
            if isinstance(op, kp.Cast):
                self._note_rounding(op)
            if isinstance(op, kp.Compute) and op.op == "exp":
                self._exponentials.add(op.result)
            varying = self._any_varying(_operands(op))
            self._define(op.result, op.dtype, varying, stage)

    def is_share(self, op: kp.Compute) -> bool:
        """Whether `op` divides lanes of exponentials by their sum, which is one scalar."""
        if op.op != "truediv" or op.dtype != "float32":
            return False
        part, total = op.args
        return self._totals.get(total) == part and self.value(part).varying

    def _note_rounding(self, op: kp.Cast) -> None:
        keeps_type = not op.bitcast and self.value(op.value).dtype == op.dtype
        if keeps_type and op.rounds_to is not None:
            self.rounded_from[op.result] = op

    def _visit_reduce(self, op: kp.Reduce, stage: int) -> None:
        varying = False
        if not self.lanes_reduce:
            varying = self._any_varying(op.args)
            if op.index is not None:
                varying = varying or self.depends_on_lane(op.index, stage)
        for name, dtype in zip(op.results, op.dtypes, strict=True):
            self._define(name, dtype, varying, stage)
        if op.kind == "sum" and op.args[0] in self._exponentials and not varying:
            self._totals[op.results[0]] = op.args[0]

    def _visit_scan(self, op: kp.Scan, stage: int) -> None:
        varying = self.lanes_in(stage) and (
            self.lanes_reduce or self._any_varying(op.args)
        )
        for name, dtype in zip(op.results, op.dtypes, strict=True):
            self._define(name, dtype, varying, stage)
        self._visit_combine(op, varying, stage)

    def _visit_combine(self, op: kp.Scan, varying: bool, stage: int) -> None:
        # A scan across lanes combines scalars, one point after the other.
        varying = varying and not self.lanes_reduce
        for name, dtype in (
            zip(op.lhs + op.rhs, op.dtypes * 2, strict=True) if op.lhs else ()
        ):
            self._define(name, dtype, varying, stage)
        for inner in op.combine:
            self._visit(inner, stage)


def _operands(
    op: kp.Constant | kp.Compute | kp.Random | kp.Cast | kp.Bucketize,
) -> tuple[str | None, ...]:
    if isinstance(op, (kp.Compute, kp.Random)):
        return op.args
    if isinstance(op, kp.Cast):
        return (op.value,)
    if isinstance(op, kp.Bucketize):
        return (op.value, op.boundary_index, op.sorter_index)
    return ()
