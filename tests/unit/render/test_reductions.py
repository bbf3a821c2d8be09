"""Reductions against numpy: across lanes, along lanes, in scalar code; every kind and dtype."""

from __future__ import annotations

import numpy as np
import pytest

from spyre_inductor.plan import kernel_plan as kp
from tests.support import plans
from tests.support.kernels import run
from tests.support.plan_reductions import reduce
from tests.support.plans import row_major

ISAS = ["native", "avx2"]
NUMERIC = ["sum", "prod", "max", "min"]


def _plan(
    kind: str, dtype: str, rows: int, columns: int, lane: str | None, results: int = 1
) -> kp.KernelPlan:
    """Reduces axis r0_0 of a [rows, columns] input for lanes across, [columns, rows] along."""
    across = lane != "x0"
    pairs = [("x0", rows), ("r0_0", columns)]
    index = row_major(pairs if across else pairs[::-1])
    names = tuple(f"t{i}" for i in range(results))
    position = kind.startswith("arg")
    out = "int64" if position else dtype
    loop = kp.LoopStage(
        (
            kp.Load("a", "in_ptr0", index, dtype),
            kp.Reduce(
                names, kind, ("a",), (out,) * results, "r0_0" if position else None
            ),
        )
    )
    stores = kp.PointStage(
        tuple(kp.Store(f"out_ptr{i}", "x0", name) for i, name in enumerate(names))
    )
    shape = (rows, columns) if across else (columns, rows)
    buffers = [plans.buffer("in_ptr0", dtype, "read", shape)]
    buffers += [
        plans.buffer(f"out_ptr{i}", out, "write", (rows,)) for i in range(results)
    ]
    return plans.kernel(
        f"{kind}_{dtype}", buffers, [loop, stores], plans.parallel(x0=rows),
        plans.reduction(r0_0=columns), lane_axis=lane,
    )  # fmt: skip


def _input(dtype: str, shape: tuple[int, int]) -> np.ndarray:
    rng = np.random.default_rng(1)
    if dtype == "bool":
        return rng.random(shape) < 0.02
    if dtype.startswith("float"):
        return (1 + rng.standard_normal(shape) / 8).astype(dtype)
    return rng.integers(0, 100, shape).astype(dtype)


_SIZES = [("native", columns) for columns in (1, 17, 64, 129, 1000)]


@pytest.mark.parametrize(("isa", "columns"), [*_SIZES, ("avx2", 129)])
@pytest.mark.parametrize("lane", ["r0_0", "x0", None])
@pytest.mark.parametrize("kind", NUMERIC)
def test_float_reductions(isa: str, lane: str | None, columns: int, kind: str) -> None:
    plan = _plan(kind, "float32", 19, columns, lane)
    x = _input("float32", (19, columns))
    if kind == "prod":
        x = (1 + (x - 1) / 100).astype(np.float32)
    out = np.zeros(19, np.float32)
    memory = x if lane != "x0" else np.ascontiguousarray(x.T)
    run(plan, {"in_ptr0": memory}, {"out_ptr0": out}, isa=isa)
    (expected,) = reduce(kind, [x], None)
    rtol = 1e-5 if kind == "prod" else 2e-6  # products round at every step
    np.testing.assert_allclose(out, expected.astype(np.float32), rtol=rtol)


@pytest.mark.parametrize("lane", ["r0_0", "x0", None])
@pytest.mark.parametrize(
    "dtype",
    [
        *("int8", "int64", "float64", "bool"),
        *(pytest.param(d, marks=pytest.mark.slow) for d in ("uint8", "int16", "int32")),
    ],
)
@pytest.mark.parametrize("kind", [*NUMERIC, "any", "xor_sum", "argmax", "argmin"])
def test_every_dtype(lane: str | None, dtype: str, kind: str) -> None:
    if (dtype == "bool") != (kind == "any") and not kind.startswith("arg"):
        pytest.skip("any is for bool, the others for numbers")
    if kind == "xor_sum" and dtype == "float64":
        pytest.skip("bits of integers only")
    plan = _plan(kind, dtype, 5, 143, lane)
    x = _input(dtype, (5, 143))
    out = np.zeros(5, np.int64 if kind.startswith("arg") else dtype)
    memory = x if lane != "x0" else np.ascontiguousarray(x.T)
    run(plan, {"in_ptr0": memory}, {"out_ptr0": out})
    with np.errstate(over="ignore"):
        (expected,) = reduce(kind, [x], np.broadcast_to(np.arange(143), x.shape))
    np.testing.assert_allclose(out, expected.astype(out.dtype), rtol=1e-12)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("lane", ["r0_0", "x0", None])
@pytest.mark.parametrize("kind", ["max", "min", "argmax", "argmin"])
def test_nan_inf_and_ties(isa: str, lane: str | None, kind: str) -> None:
    nan, inf = np.nan, np.inf
    rows = np.zeros((6, 70), np.float32)
    rows[0, [3, 40]] = [5, 5]
    rows[1, [7, 66]] = nan
    rows[2] = -inf
    rows[3] = inf
    rows[4, [69, 2]] = [-inf, inf]
    rows[5, [1, 30]] = [-nan, inf]
    plan = _plan(kind, "float32", 6, 70, lane)
    out = np.zeros(6, np.int64 if kind.startswith("arg") else np.float32)
    memory = rows if lane != "x0" else np.ascontiguousarray(rows.T)
    run(plan, {"in_ptr0": memory}, {"out_ptr0": out}, isa=isa)
    expected = getattr(np, kind)(rows, axis=1)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("isa", "columns"),
    [("native", 1), ("native", 16), ("native", 100), ("native", 2049), ("avx2", 100)],
)
@pytest.mark.parametrize("lane", ["r0_0", "x0", None])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_welford(isa: str, lane: str | None, columns: int, offset: float) -> None:
    plan = _plan("welford", "float32", 7, columns, lane, results=3)
    x = np.random.default_rng(2).standard_normal((7, columns)).astype(np.float32)
    x += np.float32(offset)
    outs = {f"out_ptr{i}": np.zeros(7, np.float32) for i in range(3)}
    memory = x if lane != "x0" else np.ascontiguousarray(x.T)
    run(plan, {"in_ptr0": memory}, outs, isa=isa)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(outs["out_ptr0"], wide.mean(1), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        outs["out_ptr1"],
        wide.var(1) * columns,
        rtol=2e-4 if offset else 1e-5,
        atol=1e-3,
    )
    np.testing.assert_array_equal(outs["out_ptr2"], columns)


@pytest.mark.parametrize("lane", ["r0_0", "x0", None])
def test_welford_combine(lane: str | None) -> None:
    rows, columns = 18, 37
    index = row_major([("x0", rows), ("r0_0", columns)])
    loads = [kp.Load(f"a{i}", f"in_ptr{i}", index, "float32") for i in range(3)]
    names = ("mean", "m2", "weight")
    reduce_op = kp.Reduce(
        names, "welford_combine", ("a0", "a1", "a2"), ("float32",) * 3
    )
    stores = [kp.Store(f"out_ptr{i}", "x0", name) for i, name in enumerate(names)]
    buffers = [
        plans.buffer(f"in_ptr{i}", "float32", "read", (rows, columns)) for i in range(3)
    ]
    buffers += [
        plans.buffer(f"out_ptr{i}", "float32", "write", (rows,)) for i in range(3)
    ]
    plan = plans.kernel(
        "combine", buffers, [kp.LoopStage((*loads, reduce_op)), kp.PointStage(tuple(stores))],
        plans.parallel(x0=rows), plans.reduction(r0_0=columns), lane_axis=lane,
    )  # fmt: skip
    rng = np.random.default_rng(3)
    ins = [rng.random((rows, columns), dtype=np.float32) for _ in range(3)]
    ins[2] = rng.integers(0, 3, (rows, columns)).astype(np.float32)
    ins[2][4] = 0
    outs = {f"out_ptr{i}": np.zeros(rows, np.float32) for i in range(3)}
    run(plan, {f"in_ptr{i}": a for i, a in enumerate(ins)}, outs)
    for got, expected in zip(outs.values(), reduce("welford_combine", ins, None)):
        mask = ins[2].sum(1) > 0
        np.testing.assert_allclose(got[mask], expected[mask], rtol=1e-5, atol=1e-5)
