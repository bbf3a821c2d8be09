"""Loop nests: every point is visited once whatever the division, lanes, order and tails."""

from __future__ import annotations

import numpy as np
import pytest

from spyre_inductor.plan import kernel_plan as kp
from tests.support import plans
from tests.support.kernels import run
from tests.support.plans import add, mul, row_major


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 64, 100])
@pytest.mark.parametrize("cores", [1, 3, 32])
def test_flat_kernel_visits_every_point(size: int, cores: int) -> None:
    ops = [
        kp.Constant("c", 2.0, "float32"),
        kp.Compute("y", "mul", ("a0", "c"), "float32"),
    ]
    plan = plans.pointwise(
        "twice", [("float32", "float32")], ops, ("float32", "float32"), size
    )
    x = np.arange(size, dtype=np.float32)
    out = np.full(size + 1, 7, np.float32)
    run(plan, {"in_ptr0": x}, {"out_ptr0": out}, cores=cores)
    np.testing.assert_array_equal(out[:size], 2 * x)
    assert out[size] == 7


@pytest.mark.parametrize("lane", ["x0", "x1", "x2", None])
@pytest.mark.parametrize("divided", [0, 1, 2, 3])
@pytest.mark.parametrize("cores", [1, 5])
def test_any_division_and_lane_axis(lane: str | None, divided: int, cores: int) -> None:
    shape = (3, 5, 19)
    names = ["x0", "x1", "x2"]
    source = row_major(list(zip(names, shape)))
    transposed = add("x0", mul("x1", 3), mul("x2", 15))
    stage = kp.PointStage(
        (
            kp.Load("a", "in_ptr0", source, "float32"),
            kp.Store("out_ptr0", transposed, "a"),
        )
    )
    buffers = [
        plans.buffer("in_ptr0", "float32", "read", shape),
        plans.buffer("out_ptr0", "float32", "write", shape[::-1]),
    ]
    plan = plans.kernel(
        "transpose", buffers, [stage], plans.parallel(x0=3, x1=5, x2=19), lane_axis=lane,
        divided=divided, grain=4,
    )  # fmt: skip
    x = np.arange(285, dtype=np.float32).reshape(shape)
    out = np.zeros(shape[::-1], np.float32)
    run(plan, {"in_ptr0": x}, {"out_ptr0": out}, cores=cores)
    np.testing.assert_array_equal(out, x.T)


@pytest.mark.parametrize("isa", ["native", "avx2"])
@pytest.mark.parametrize("divided", [0, 1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "float64"])
def test_transposed_reads_take_whole_blocks(dtype: str, divided: int, isa: str) -> None:
    # More than a group of 32 rows and 16 lanes, and something left of both.
    batch, rows, columns = 2, 75, 37
    row = mul("x1", columns)
    stage = kp.PointStage(
        (
            kp.Load("a", "in_ptr0", add("x1", mul("x2", rows), mul("x0", rows * columns)),
                    "float32" if dtype == "float16" else dtype),
            kp.Store("out_ptr0", add("x2", row, mul("x0", rows * columns)), "a"),
        )
    )  # fmt: skip
    buffers = [
        plans.buffer("in_ptr0", dtype, "read", (batch, columns, rows)),
        plans.buffer("out_ptr0", dtype, "write", (batch, rows, columns)),
    ]
    plan = plans.kernel(
        "turn", buffers, [stage], plans.parallel(x0=batch, x1=rows, x2=columns),
        lane_axis="x2", divided=divided, grain=4,
    )  # fmt: skip
    x = np.arange(batch * rows * columns) % 121
    x = x.astype(dtype).reshape(batch, columns, rows)
    out = np.zeros((batch, rows, columns), dtype)
    run(plan, {"in_ptr0": x}, {"out_ptr0": out}, cores=5, isa=isa)
    np.testing.assert_array_equal(out, x.transpose(0, 2, 1))


def test_sizes_known_at_launch() -> None:
    shape = ("ks0", "ks1")
    index = row_major([("x0", "ks0"), ("x1", "ks1")])
    stage = kp.PointStage(
        (kp.Load("a", "in_ptr0", index, "float32"), kp.Store("out_ptr0", index, "a"))
    )
    buffers = [
        plans.buffer("in_ptr0", "float32", "read", shape),
        plans.buffer("out_ptr0", "float32", "write", shape),
    ]
    scalars = [
        kp.ScalarArgument("ks0", "int64", 4),
        kp.ScalarArgument("ks1", "int64", 8),
    ]
    plan = plans.kernel(
        "copy", buffers, [stage], plans.parallel(x0="ks0", x1="ks1"), lane_axis="x1",
        divided=2, grain=32, scalars=scalars,
    )  # fmt: skip
    for rows, columns in ((4, 8), (7, 33), (1, 1), (0, 5), (5, 0)):
        x = np.random.default_rng(0).random((rows, columns), dtype=np.float32)
        out = np.zeros_like(x)
        run(plan, {"in_ptr0": x}, {"out_ptr0": out}, scalars=(rows, columns))
        np.testing.assert_array_equal(out, x)
