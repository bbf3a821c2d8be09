"""Ranges of computed values: safe, and tight enough for indices that are clamped."""

from __future__ import annotations

import pytest

from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.plan.expr import IntOp
from spyre_inductor.plan.value_bounds import ValueBounds

_POINT = kp.IndexValue("i", "x0", "int64")  # 0..9
_LOADED = kp.Load("n", "in_ptr0", "x0", "int64")


def _constant(name: str, value: float | int, dtype: str) -> kp.Constant:
    return kp.Constant(name, value, dtype)


def _int(name: str, op: str, *args: str) -> kp.Compute:
    return kp.Compute(name, op, args, "int64")


def _float(name: str, op: str, *args: str) -> kp.Compute:
    return kp.Compute(name, op, args, "float32")


# operations -> range of t
CASES: dict[str, tuple[list[kp.Operation], tuple[int, int] | None]] = {
    "arithmetic": (
        [
            _POINT,
            _constant("c", 3, "int64"),
            _int("m", "mul", "i", "c"),
            _int("t", "sub", "m", "i"),
        ],
        (-9, 27),
    ),
    "scaled and floored": (
        [
            _POINT,
            kp.Cast("f", "i", "float32"),
            _constant("s", 0.5, "float32"),
            _float("p", "mul", "f", "s"),
            _float("q", "floor", "p"),
            kp.Cast("t", "q", "int64"),
        ],
        (0, 4),
    ),
    "loaded and clamped": (
        [
            _LOADED,
            _constant("zero", 0, "int64"),
            _constant("end", 5, "int64"),
            _int("m", "maximum", "n", "zero"),
            _int("t", "minimum", "m", "end"),
        ],
        (0, 5),
    ),
    "loaded and checked": (
        [_LOADED, kp.CheckBounds("n", 0, 7, 0), _int("t", "neg", "n")],
        (-6, 0),
    ),
    "a sum that wraps": (
        [_LOADED, _int("t", "add", "n", "n")],
        (-(2**63), 2**63 - 1),
    ),
    "a float that may be NaN": (
        [
            kp.Load("f", "in_ptr0", "x0", "float32"),
            _constant("z", 0.0, "float32"),
            _float("m", "maximum", "f", "z"),
            _float("k", "minimum", "m", "z"),
            kp.Cast("t", "k", "int64"),
        ],
        (-(2**63), 2**63 - 1),
    ),
    "a choice": (
        [
            _POINT,
            _LOADED,
            kp.Compute("b", "lt", ("n", "i"), "bool"),
            _constant("c", 40, "int64"),
            _int("t", "where", "b", "i", "c"),
        ],
        (0, 40),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bounds(name: str) -> None:
    operations, expected = CASES[name]
    bounds = ValueBounds({"x0": 10})
    for op in operations:
        bounds.visit(op)
    assert bounds.of_index("t") == expected


def test_a_check_of_one_side_needs_the_other() -> None:
    bounds = ValueBounds({"x0": 10})
    bounds.visit(_LOADED)
    bounds.visit(kp.CheckBounds("n", None, 7, 0))
    assert "n" not in bounds.checked
    bounds.visit(kp.CheckBounds("n", 0, None, 0))
    assert "n" in bounds.checked
    assert bounds.of_index(IntOp("mul", ("n", 2))) == (0, 12)
