"""Each rule of the verifier, by one plan that breaks it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from spyre_inductor.errors import PlanError
from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.plan.expr import IntOp
from spyre_inductor.plan.verify import verify


def _row_sum() -> kp.KernelPlan:
    """out[x] = sum over r of in[x, r]; 8 rows of 64."""
    index = IntOp("add", (IntOp("mul", ("x0", 64)), "r0"))
    return kp.KernelPlan(
        name="row_sum",
        template="loops",
        buffers=(
            kp.BufferArgument(
                "in_ptr0", ("a",), "float32", "read", (8, 64), (64, 1), 512
            ),
            kp.BufferArgument("out_ptr0", ("b",), "float32", "write", (8,), (1,), 8),
        ),
        scalars=(),
        axes=(kp.Axis("x0", 8, "parallel"),),
        reduction_axes=(kp.Axis("r0", 64, "reduction"),),
        stages=(
            kp.LoopStage(
                (
                    kp.Load("t0", "in_ptr0", index, "float32"),
                    kp.Reduce(("t1",), "sum", ("t0",), ("float32",)),
                )
            ),
            kp.PointStage((kp.Store("out_ptr0", "x0", "t1"),)),
        ),
        division=kp.Division(("x0",), 4),
        tile=kp.LxTile((("x0", 8), ("r0", 64)), 2176),
        lane_axis="r0",
    )


def _with_ops(stage: int, *ops: kp.Operation) -> kp.KernelPlan:
    plan = _row_sum()
    stages = list(plan.stages)
    stages[stage] = dataclasses.replace(stages[stage], ops=ops)
    return dataclasses.replace(plan, stages=tuple(stages))


def _changed(**fields: Any) -> kp.KernelPlan:
    return dataclasses.replace(_row_sum(), **fields)


def test_a_good_plan_passes_unchanged() -> None:
    plan = _row_sum()
    assert verify(plan) is plan


_LOAD = kp.Load("t0", "in_ptr0", "r0", "float32")
_SUM = kp.Reduce(("t1",), "sum", ("t0",), ("float32",))


def _digits(x: str, r: str, top: int) -> IntOp:
    """64 x + r taken apart and put together again; its last element is 447 + top."""
    flat = IntOp("add", (IntOp("mul", (x, 64)), r))
    high, low = IntOp("floordiv", (flat, 64)), IntOp("mod", (flat, 64))
    end = IntOp("floordiv", (flat, 511))  # 1 at the last point only
    return IntOp("add", (IntOp("mul", (high, 64)), low, IntOp("mul", (end, top - 64))))


BROKEN = {
    "uses undefined ['t9']": _with_ops(
        0, _LOAD, kp.Reduce(("t1",), "sum", ("t9",), ("float32",))
    ),
    "uses undefined ['t0']": _with_ops(1, kp.Store("out_ptr0", "x0", "t0")),
    "defined twice": _with_ops(0, _LOAD, _LOAD, _SUM),
    "unknown buffer": _with_ops(1, kp.Store("out_ptr7", "x0", "t1")),
    "read-only": _with_ops(1, kp.Store("in_ptr0", "x0", "t1")),
    "write-only": _with_ops(0, kp.Load("t0", "out_ptr0", 0, "float32"), _SUM),
    "unknown operator": _with_ops(
        0, _LOAD, kp.Compute("t2", "frobnicate", ("t0",), "float32"), _SUM
    ),
    "takes 2 operands": _with_ops(
        0, _LOAD, kp.Compute("t2", "add", ("t0",), "float32"), _SUM
    ),
    "needs operands": _with_ops(
        0, _LOAD, kp.Compute("t2", "add", ("t0", "t0"), "float64"), _SUM
    ),
    "not a compute type": _with_ops(
        0, kp.Load("t0", "in_ptr0", "r0", "bfloat16"), _SUM
    ),
    "reaches elements 0..1015": _with_ops(
        0,
        kp.Load(
            "t0", "in_ptr0", IntOp("add", ("x0", IntOp("mul", ("r0", 16)))), "float32"
        ),
        _SUM,
    ),
    "two points store to one element": _with_ops(1, kp.Store("out_ptr0", 0, "t1")),
    "reaches element 512 of buffer in_ptr0, which has 512, at {'r0': 63, 'x0': 7}": _with_ops(
        0,
        kp.Load("t0", "in_ptr0", _digits("x0", "r0", 65), "float32"),
        _SUM,
    ),
    "one element of out_ptr0: Store(buffer='out_ptr0', index=IntOp(op='floordiv'": (
        _with_ops(1, kp.Store("out_ptr0", IntOp("floordiv", ("x0", 2)), "t1"))
    ),
    "outside a LoopStage": _with_ops(
        1, kp.Reduce(("t2",), "sum", ("t1",), ("float32",))
    ),
    "has no message": _with_ops(
        0,
        _LOAD,
        _SUM,
        kp.IndexValue("t2", "r0", "int64"),
        kp.CheckBounds("t2", 0, 9, 0),
    ),
    "no prefix": _changed(division=kp.Division(("r0",), 4)),
    "the card has 32": _changed(division=kp.Division(("x0",), 33)),
    "divide no axis": _changed(division=kp.Division((), 2)),
    "LX budget": _changed(tile=kp.LxTile((("x0", 8),), 1_700_000)),
    "is not an axis": _changed(lane_axis="x7"),
    "tile of unknown axes": _changed(tile=kp.LxTile((("x9", 8),), 8)),
    "axis r0 depends on ['s7'], which no scalar argument gives": _changed(
        reduction_axes=(kp.Axis("r0", "s7", "reduction"),)
    ),
    "the size of buffer in_ptr0 depends on ['s7']": _changed(
        buffers=(
            dataclasses.replace(
                _row_sum().buffers[0], storage_elems=IntOp("mul", (64, "s7"))
            ),
            _row_sum().buffers[1],
        )
    ),
    "used twice": _changed(axes=(kp.Axis("r0", 8, "parallel"),)),
    "among parallel axes": _changed(axes=(kp.Axis("x0", 8, "reduction"),)),
    "without reduction axes": _changed(reduction_axes=()),
}


@pytest.mark.parametrize("sentence", BROKEN)
def test_a_broken_plan_is_refused(sentence: str) -> None:
    with pytest.raises(PlanError) as caught:
        verify(BROKEN[sentence])
    assert sentence in str(caught.value)
    assert "row_sum" in str(caught.value)


def test_divided_indices_that_stay_inside_pass() -> None:
    verify(
        _with_ops(0, kp.Load("t0", "in_ptr0", _digits("x0", "r0", 64), "float32"), _SUM)
    )


def test_parts_that_vary_together_are_not_refused() -> None:
    """x - x % 8 stays below 512 although its parts alone could reach beyond."""
    flat = IntOp("add", (IntOp("mul", ("x0", 64)), "r0"))
    rest = IntOp("mul", (-1, IntOp("mod", (flat, 8))))
    verify(
        _with_ops(
            0, kp.Load("t0", "in_ptr0", IntOp("add", (flat, rest)), "float32"), _SUM
        )
    )


def test_unknown_sizes_are_not_guessed() -> None:
    plan = _changed(
        axes=(kp.Axis("x0", "ks0", "parallel"),),
        scalars=(kp.ScalarArgument("ks0", "int64", 8),),
    )
    assert verify(plan) is plan
