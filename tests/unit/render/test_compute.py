"""Every Compute operator x dtype, in lanes and as scalars, against numpy and torch CPU."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.plan.op_table import COMPUTE_OPS
from spyre_inductor.render.compute_text import SPELLINGS
from spyre_inductor.render.renderer import render_module
from tests.support import plans
from tests.support.kernels import launch_source
from tests.support.plan_arithmetic import compute

FLOATS = ("float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_TYPES = {
    "float": FLOATS,
    "polynomial": FLOATS,
    "ldexp": FLOATS,
    "exponent": FLOATS,
    "test": FLOATS,
    "same": FLOATS + INTEGERS,
    "integer": INTEGERS,
    "bits": (*INTEGERS, "bool"),
    "compare": (*FLOATS, *INTEGERS, "bool"),
    "logical": ("bool",),
    "where": (*FLOATS, *INTEGERS, "bool"),
}
SIZE = 333  # 20 whole steps and a tail
# Operators that are given by definition, not by ulp: exact on every type.
EXACT = frozenset(
    """add sub mul neg abs sign relu maximum minimum floor ceil trunc round copysign
    nextafter fmod remainder isnan isinf signbit frexp_mantissa frexp_exponent ldexp""".split()
)


def _fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    wide = a.astype(np.longdouble) * b + c
    return wide.astype(a.dtype)


def _python_remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    r = np.fmod(a, b)
    return np.where((r != 0) & ((b < 0) != (r < 0)), r + b, r)


def _truncated(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    zero = b == 0
    return np.where(zero, 0, np.fmod(a, np.where(zero, 1, b)))


def _truncated_quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    # Not torch.div: MIN / -1 raises SIGFPE in it.
    safe = np.where(b == 0, 1, b)
    floor = np.floor_divide(a, safe)
    inexact = (_truncated(a, b) != 0) & ((a < 0) != (b < 0))
    return np.where(b == 0, 0, np.where(inexact, floor + 1, floor))


# Where the oracle of the plan interpreter is too coarse or raises: eager's fmod loses huge
# quotients and divides by no zero; unsigned types have no abs, sign, relu or integer power.
EXACT_FLOATS = {"fma": _fused, "fmod": np.fmod, "remainder": _python_remainder}
EXACT_INTEGERS = {"fmod": _truncated, "truncdiv": _truncated_quotient}
EXACT_UNSIGNED = {
    "fmod": _truncated,
    "abs": lambda a: a,
    "sign": np.sign,
    "relu": lambda a: a,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "pow": np.power,
    "bitwise_right_shift": lambda a, b: np.where(
        b < a.itemsize * 8, np.right_shift(a, b % (a.itemsize * 8)), 0
    ),
    "truncdiv": lambda a, b: np.where(b == 0, 0, a // np.where(b == 0, 1, b)),
}


def _expected(op: str, dtype: str, inputs: list[np.ndarray], result: str) -> np.ndarray:
    exact = EXACT_INTEGERS
    if dtype in FLOATS:
        exact = EXACT_FLOATS
    elif dtype.startswith("uint"):
        exact = EXACT_UNSIGNED
    with np.errstate(all="ignore"):
        return exact[op](*inputs) if op in exact else compute(op, inputs, result)


SPECIAL_RTOL = {"float32": 1e-4, "float64": 1e-8}


def _operand_types(op: str, dtype: str) -> tuple[tuple[str, ...], str]:
    """Types of operands and result of `op` on `dtype`."""
    count, rule = COMPUTE_OPS[op]
    operands = (dtype,) * count
    if rule in ("compare", "test", "logical"):
        return operands, "bool"
    if rule == "where":
        return ("bool", dtype, dtype), dtype
    if rule == "ldexp":
        return (dtype, "int32"), dtype
    return operands, "int32" if rule == "exponent" else dtype


def _cases(dtype: str) -> list[str]:
    return [op for op, (_, rule) in COMPUTE_OPS.items() if dtype in _TYPES[rule]]


def _plan(op: str, dtype: str, lanes: bool) -> kp.KernelPlan:
    operands, result = _operand_types(op, dtype)
    args = tuple(f"a{i}" for i in range(len(operands)))
    plan = plans.pointwise(
        f"{op}_{dtype}_{'lanes' if lanes else 'scalar'}",
        [(t, t) for t in operands],
        [kp.Compute("y", op, args, result)],
        (result, result),
        SIZE,
    )
    return plan if lanes else kp.KernelPlan(**{**vars(plan), "lane_axis": None})


@functools.cache
def _module(dtype: str, lanes: bool) -> tuple[str, dict[str, kp.KernelPlan]]:
    made = {op: _plan(op, dtype, lanes) for op in _cases(dtype)}
    return render_module(list(made.values()), dtype), made


def _inputs(op: str, dtypes: tuple[str, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(len(op))
    arrays = []
    for position, dtype in enumerate(dtypes):
        if dtype == "bool":
            array = rng.random(SIZE) < 0.5
        elif dtype in FLOATS:
            array = _floats(op, position, dtype, rng)
        else:
            array = _integers(op, position, dtype, rng)
        arrays.append(array)
    return arrays


def _floats(op: str, position: int, dtype: str, rng: np.random.Generator) -> np.ndarray:
    array = (rng.standard_normal(SIZE) * 3).astype(dtype)
    if "polynomial" in op:  # huge arguments of a recurrence end in inf - inf
        return rng.integers(0, 8, SIZE).astype(dtype) if position else array
    if op == "polygamma" and position == 0:
        return np.full(SIZE, 2, dtype)
    if op in ("igamma", "igammac", "zeta"):
        return (np.abs(array) + (1.5 if op == "zeta" else 0.1)).astype(dtype)
    tiny = np.finfo(dtype).smallest_subnormal
    huge = np.finfo(dtype).max
    specials = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -1.5, 88.9, -104.0]
    specials += [np.inf, -np.inf, np.nan, tiny, np.finfo(dtype).tiny, huge, -huge]
    # Every pair of special values meets in binary operators.
    count = len(specials)
    grid = np.array(specials, dtype)
    array[: count * count] = grid.repeat(count) if position else np.tile(grid, count)
    return array


def _integers(
    op: str, position: int, dtype: str, rng: np.random.Generator
) -> np.ndarray:
    info = np.iinfo(dtype)
    array = rng.integers(info.min, info.max, SIZE, dtype=dtype, endpoint=True)
    array[:200:3] = rng.integers(0, 9, 67).astype(dtype)
    if op == "ldexp":
        return rng.integers(-160, 160, SIZE).astype(dtype)
    if op == "pow" and position == 1:
        return rng.integers(0, 6, SIZE).astype(dtype)
    if "shift" in op and position == 1:
        return rng.integers(-2 if info.min else 0, 70, SIZE).astype(dtype)
    if position == 1:
        array[::7] = info.min
        array[1::7] = np.array(-1).astype(dtype)
    else:
        array[::14] = info.min
        array[1::14] = info.min
    return array


def _assert_close(
    op: str, dtype: str, got: np.ndarray, expected: np.ndarray, ulps: int
) -> None:
    if op in EXACT or expected.dtype.kind != "f" or got.dtype.kind == "b":
        np.testing.assert_array_equal(got, expected)
    elif (SPELLINGS[op].header or "").startswith("special"):
        rtol = SPECIAL_RTOL[dtype]
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol / 100)
    else:
        # Eager's sinh and cosh overflow a little before their results do.
        keep = np.isfinite(expected) if op in ("sinh", "cosh") else np.full(SIZE, True)
        got, expected = got[keep], expected[keep]
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(got[~finite], expected[~finite])
        limit = ulps * np.spacing(np.abs(expected[finite]))
        if (
            op == "sigmoid"
        ):  # eager's own 1 / (1 + exp(-x)) flushes results below 2^-126
            limit = np.maximum(limit, 2.0**-126)
        worst = np.abs(got[finite] - expected[finite]) - limit
        assert worst.max(initial=0) <= 0, (op, got[finite][worst.argmax()])


_QUICK = [
    *(("native", dtype, True) for dtype in (*FLOATS, "int64", "uint8", "bool")),
    ("native", "float32", False),
    ("avx2", "float32", True),
]
_EVERY = [
    *(
        ("native", dtype, lanes)
        for dtype in (*FLOATS, *INTEGERS, "bool")
        for lanes in (True, False)
    ),
    *(("avx2", dtype, True) for dtype in ("float32", "float64", "int8", "int64")),
    *(("scalar", dtype, True) for dtype in ("float32", "uint32")),
]


@pytest.mark.parametrize(
    ("isa", "dtype", "lanes"),
    [
        *_QUICK,
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in _EVERY
            if case not in _QUICK
        ),
    ],
)
def test_every_operator(dtype: str, isa: str, lanes: bool) -> None:
    source, made = _module(dtype, lanes)
    failures = []
    for op, plan in made.items():
        if op == "fma" and isa == "scalar":
            continue  # baseline x86-64 has none: two roundings
        operands, result = _operand_types(op, dtype)
        inputs = _inputs(op, operands)
        out = np.zeros(SIZE, result)
        launch_source(source, plan, [*inputs, out], isa=isa)
        expected = _expected(op, dtype, inputs, result)
        try:
            _assert_close(op, dtype, out, expected, 4 if isa != "scalar" else 32)
        except AssertionError as error:
            failures.append(f"{op}: {error}")
    assert not failures, "\n".join(failures)


def test_every_operator_of_the_plan_has_a_spelling() -> None:
    assert set(COMPUTE_OPS) == set(SPELLINGS)
