"""Ranges and linear forms of index expressions."""

from __future__ import annotations

import itertools

import pytest

from spyre_inductor.plan.affine import (
    Linear,
    is_injective,
    linear_form,
    value_range,
)
from spyre_inductor.plan.expr import IntExpr, IntOp, add, mul, substitute


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (7, (7, 7)),
        (add(mul("x0", 64), "r0", -3), (-3, 508)),
        (IntOp("mod", ("r0", 8)), (0, 7)),
        (IntOp("mod", ("x0", 9)), (0, 7)),
        (IntOp("floordiv", (add("r0", -1), 4)), (-1, 15)),
        (IntOp("max", ("x0", 3)), (3, 7)),
        (mul(-1, "x0"), (-7, 0)),
        ("tmp0", None),
        (IntOp("floordiv", ("r0", "x0")), None),
    ],
)
def test_value_range(expr: IntExpr, expected: tuple[int, int] | None) -> None:
    assert value_range(expr, {"x0": (0, 7), "r0": (0, 63)}) == expected


def test_linear_form() -> None:
    expr = add(mul(2, add("x0", 3)), mul(-1, "r0"), "x0")
    assert linear_form(expr) == Linear(6, {"x0": 3, "r0": -1})
    assert linear_form(mul("x0", "r0")) is None
    assert linear_form(IntOp("mod", ("x0", 2))) is None


@pytest.mark.parametrize("steps", itertools.product([0, 1, 2, 4, -8], repeat=2))
def test_injectivity_agrees_with_counting(steps: tuple[int, int]) -> None:
    extents = {"a": 4, "b": 3}
    form = Linear(5, dict(zip(extents, steps)))
    places = {steps[0] * a + steps[1] * b for a in range(4) for b in range(3)}
    if is_injective(form, extents):
        assert len(places) == 12


def test_dense_strides_are_injective() -> None:
    assert is_injective(Linear(0, {"a": 3, "b": 1}), {"a": 4, "b": 3})
    assert is_injective(Linear(0, {"a": 1, "b": 4}), {"a": 4, "b": 3})
    assert not is_injective(Linear(0, {"a": 2, "b": 1}), {"a": 4, "b": 3})


def test_building_expressions_folds_constants() -> None:
    assert add(1, "x", 2) == IntOp("add", ("x", 3))
    assert add(0, "x") == "x" and add() == 0
    assert mul(2, "x", 3) == IntOp("mul", (6, "x"))
    assert mul(1, "x") == "x" and mul("x", 0) == 0
    assert substitute(add("x", "y"), {"x": "y", "y": 2}) == IntOp("add", ("y", 2))
