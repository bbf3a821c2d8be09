"""Runs a KernelPlan in numpy: the oracle that renderers and front end are compared with.

Every value is an array over (parallel axes..., reduction axes...), broadcast; nothing is fast.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.plan.expr import IntExpr, IntOp
from tests.support import plan_reductions
from tests.support.plan_arithmetic import bitcast, cast, compute, store_cast
from tests.support.plan_random import random_values


class PlanCheckError(RuntimeError):
    """A CheckBounds or Assert of the plan failed."""


class PlanInterpreter:
    """One launch of `plan`.

    Args:
        buffers: argument name -> flat numpy array (memory dtype; narrow floats as float32).
        scalars: argument name -> value.
    """

    def __init__(
        self,
        plan: kp.KernelPlan,
        buffers: Mapping[str, np.ndarray],
        scalars: Mapping[str, int | float],
    ) -> None:
        self.plan, self.buffers = plan, dict(buffers)
        self.dtypes = {b.name: b.dtype for b in plan.buffers}
        self.values: dict[str, np.ndarray] = {
            name: np.asarray(value) for name, value in scalars.items()
        }
        axes = (*plan.axes, *plan.reduction_axes)
        self.parallel_rank = len(plan.axes)
        self.rank = len(axes)
        self.extents = [int(self.index(axis.extent)) for axis in axes]
        for position, axis in enumerate(axes):
            shape = [1] * self.rank
            shape[position] = self.extents[position]
            points = np.arange(self.extents[position], dtype=np.int64)
            self.values[axis.name] = points.reshape(shape)

    def run(self) -> None:
        """Executes all stages; stores change the arrays in `buffers`."""
        for stage in self.plan.stages:
            in_loop = isinstance(stage, kp.LoopStage)
            for op in stage.ops:
                self._run(op, in_loop)

    def index(self, expr: IntExpr) -> np.ndarray:
        """Value of an index expression."""
        if isinstance(expr, int):
            return np.asarray(expr, dtype=np.int64)
        if isinstance(expr, str):
            return self.values[expr]
        assert isinstance(expr, IntOp)
        args = [self.index(arg) for arg in expr.args]
        return np.asarray(_INT_OPS[expr.op](*args), dtype=np.int64)

    def _shape(self, in_loop: bool) -> list[int]:
        shape = list(self.extents)
        if not in_loop:
            shape[self.parallel_rank :] = [1] * (self.rank - self.parallel_rank)
        return shape

    def _run(self, op: kp.Operation, in_loop: bool) -> None:
        with np.errstate(all="ignore"):
            getattr(self, "_" + type(op).__name__.lower())(op, in_loop)

    def _constant(self, op: kp.Constant, in_loop: bool) -> None:
        value = float(op.value) if isinstance(op.value, str) else op.value
        self.values[op.result] = np.asarray(value, dtype=op.dtype)

    def _indexvalue(self, op: kp.IndexValue, in_loop: bool) -> None:
        self.values[op.result] = self.index(op.expr).astype(op.dtype)

    def _load(self, op: kp.Load, in_loop: bool) -> None:
        memory, index = self.buffers[op.buffer], self.index(op.index)
        if op.mask is not None:
            mask = self.values[op.mask]
            index, mask = np.broadcast_arrays(index, mask)
            flat = np.zeros(index.shape, dtype=memory.dtype)
            flat[mask] = memory[_checked(index[mask], memory, op)]
        else:
            flat = memory[_checked(index, memory, op)]
        self.values[op.result] = np.asarray(flat).astype(op.dtype)

    def _compute(self, op: kp.Compute, in_loop: bool) -> None:
        args = [self.values[name] for name in op.args]
        self.values[op.result] = compute(op.op, args, op.dtype)

    def _cast(self, op: kp.Cast, in_loop: bool) -> None:
        value = self.values[op.value]
        if op.bitcast:
            assert op.from_memory and op.to_memory
            result = bitcast(value, op.from_memory, op.to_memory)
        else:
            result = cast(value, op.dtype)
            if op.rounds_to is not None:
                result = store_cast(result, op.rounds_to)
        self.values[op.result] = result.astype(op.dtype)

    def _checkbounds(self, op: kp.CheckBounds, in_loop: bool) -> None:
        value = self.values[op.value]
        good = np.ones_like(value, dtype=bool)
        if op.lower is not None:
            good = good & (value >= self.index(op.lower))
        if op.upper is not None:
            good = good & (value < self.index(op.upper))
        self._require(good, op.mask, op.check)

    def _assert(self, op: kp.Assert, in_loop: bool) -> None:
        self._require(self.values[op.condition], op.mask, op.check)

    def _require(self, good: np.ndarray, mask: str | None, check: int) -> None:
        if mask is not None:
            good = good | ~self.values[mask]
        if not np.all(good):
            raise PlanCheckError(self.plan.checks[check])

    def _store(self, op: kp.Store, in_loop: bool) -> None:
        memory = self.buffers[op.buffer]
        shape = self._shape(in_loop)
        index = np.broadcast_to(self.index(op.index), shape)
        value = store_cast(self.values[op.value], self.dtypes[op.buffer])
        value = np.broadcast_to(value, shape)
        index = _checked(index, memory, op)
        if op.mode == "atomic_add":
            np.add.at(memory, index, value.astype(memory.dtype))
        else:
            memory[index] = value.astype(memory.dtype)

    def _loop_arrays(self, names: Sequence[str]) -> list[np.ndarray]:
        shape = self._shape(in_loop=True)
        return [np.broadcast_to(self.values[name], shape) for name in names]

    def _flat_reduction(self, array: np.ndarray) -> np.ndarray:
        parallel = array.shape[: self.parallel_rank]
        return array.reshape(*parallel, -1)

    def _reduce(self, op: kp.Reduce, in_loop: bool) -> None:
        args = [self._flat_reduction(a) for a in self._loop_arrays(op.args)]
        index = None
        if op.index is not None:
            full = np.broadcast_to(self.index(op.index), self._shape(True))
            index = self._flat_reduction(full)
        ones = [1] * (self.rank - self.parallel_rank)
        for name, array, dtype in zip(
            op.results, plan_reductions.reduce(op.kind, args, index), op.dtypes
        ):
            self.values[name] = array.reshape(*array.shape, *ones).astype(dtype)

    def _scan(self, op: kp.Scan, in_loop: bool) -> None:
        shape = self._shape(in_loop=True)
        args = [self._flat_reduction(a) for a in self._loop_arrays(op.args)]
        args = [a.astype(d).copy() for a, d in zip(args, op.dtypes)]
        for position in range(1, args[0].shape[-1]):
            left = [a[..., position - 1] for a in args]
            right = [a[..., position] for a in args]
            for array, value in zip(args, self._combine(op, left, right)):
                array[..., position] = value
        for name, array in zip(op.results, args):
            self.values[name] = array.reshape(shape)

    def _combine(
        self, op: kp.Scan, left: list[np.ndarray], right: list[np.ndarray]
    ) -> list[np.ndarray]:
        named = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}
        if op.kind in named:
            return [compute(named[op.kind], [left[0], right[0]], op.dtypes[0])]
        self.values.update(zip(op.lhs, left))
        self.values.update(zip(op.rhs, right))
        for part in op.combine:
            self._run(part, True)
        return [self.values[name] for name in op.combine_results]

    def _random(self, op: kp.Random, in_loop: bool) -> None:
        args = np.broadcast_arrays(*(self.values[name] for name in op.args))
        self.values[op.result] = random_values(op.kind, args).astype(op.dtype)

    def _bucketize(self, op: kp.Bucketize, in_loop: bool) -> None:
        count, stride = (
            int(self.index(op.boundary_count)),
            self.index(op.boundary_stride),
        )
        names = [op.value, op.boundary_index]
        names += [op.sorter_index] if op.sorter_index else []
        arrays = np.broadcast_arrays(*(self.values[name] for name in names))
        result = np.zeros(arrays[0].shape, dtype=np.int64)
        positions = np.arange(count)
        for point in itertools.product(*map(range, result.shape)):
            order = positions
            if op.sorter is not None:
                sorter_stride = self.index(op.sorter_stride)
                where = int(arrays[2][point]) + positions * sorter_stride
                order = self.buffers[op.sorter][where]
            row = self.buffers[op.boundaries][int(arrays[1][point]) + order * stride]
            side = "right" if op.right else "left"
            result[point] = np.searchsorted(row, arrays[0][point], side=side)
        self.values[op.result] = result.astype(op.dtype)


def _checked(index: np.ndarray, memory: np.ndarray, op: Any) -> np.ndarray:
    if index.size and (index.min() < 0 or index.max() >= memory.size):
        raise IndexError(
            f"{op} reaches outside of its buffer of {memory.size} elements"
        )
    return index


def _fold(function: Any) -> Any:
    def folded(*args: np.ndarray) -> np.ndarray:
        result = args[0]
        for arg in args[1:]:
            result = function(result, arg)
        return result

    return folded


_INT_OPS: dict[str, Any] = {
    "add": _fold(np.add),
    "mul": _fold(np.multiply),
    "min": _fold(np.minimum),
    "max": _fold(np.maximum),
    "floordiv": np.floor_divide,
    "mod": np.mod,
    "ceildiv": lambda a, b: -(-a // b),
    "pow": np.power,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "and": _fold(np.logical_and),
    "or": _fold(np.logical_or),
    "where": np.where,
}
