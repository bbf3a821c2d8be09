"""Where kernels round: bfloat16 in stores and casts, and the division of a softmax."""

from __future__ import annotations

import numpy as np
import pytest

from spyre_inductor.plan import kernel_plan as kp
from tests.support import plans
from tests.support.kernels import run
from tests.support.plans import row_major

ISAS = ["native", "avx2", "scalar"]
SIZE = 1 << 14


def _patterns() -> np.ndarray:
    """Floats of random bits, every kind of special value and all ties among them."""
    bits = np.random.default_rng(3).integers(0, 1 << 32, SIZE, dtype=np.uint32)
    bits[: SIZE // 4] &= 0x007FFFFF  # denormals
    bits[SIZE // 4 : SIZE // 2] = (bits[SIZE // 4 : SIZE // 2] & 0xFFFF0000) | 0x8000
    bits[-4:] = [0, 0x80000000, 0x7F800000, 0x7F7FFFFF]
    return bits.view(np.float32)


def _nearest_even(x: np.ndarray) -> np.ndarray:
    """bfloat16 bits of `x`, by integers."""
    bits = x.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


@pytest.mark.parametrize("isa", ISAS)
def test_bfloat16_rounds_to_nearest_even_and_keeps_denormals(isa: str) -> None:
    cast = kp.Cast("y", "a0", "float32", rounds_to="bfloat16")
    store = kp.Store("out_ptr0", "x0", "a0")
    (stage,) = plans.pointwise(
        "p", [("float32", "float32")], [store, cast], ("float32", "float32")
    ).stages
    stage = kp.PointStage((*stage.ops[:-1], kp.Store("out_ptr1", "x0", "y")))
    buffers = [
        plans.buffer("in_ptr0", "float32", "read", (SIZE,)),
        plans.buffer("out_ptr0", "bfloat16", "write", (SIZE,)),
        plans.buffer("out_ptr1", "float32", "write", (SIZE,)),
    ]
    axes = plans.parallel(x0=SIZE)
    plan = plans.kernel("round_bf16", buffers, [stage], axes, lane_axis="x0", grain=16)
    x = _patterns()
    stored, cast_back = np.zeros(SIZE, np.uint16), np.zeros(SIZE, np.float32)
    outputs = {"out_ptr0": stored, "out_ptr1": cast_back}
    run(plan, {"in_ptr0": x}, outputs, isa=isa)
    number = ~np.isnan(x)
    np.testing.assert_array_equal(stored[number], _nearest_even(x)[number])
    back = cast_back.view(np.uint32)
    np.testing.assert_array_equal(back[number] >> 16, stored[number])
    assert not (back & 0xFFFF)[number].any()
    assert np.isnan(cast_back[~number]).all()
    assert ((stored[~number] & 0x7FFF) > 0x7F80).all()


@pytest.mark.parametrize("columns", [64, 67])
@pytest.mark.parametrize("isa", ISAS)
def test_shares_of_a_sum_of_exponentials(isa: str, columns: int) -> None:
    # Totals over the whole range of float32: a user's softmax need not subtract the maximum.
    bases = [
        0.0,
        -80.0,
        -87.5,
        -100.0,
        -103.5,
        70.0,
        83.0,
        88.5,
        -np.inf,
        np.inf,
        np.nan,
    ]
    rows = len(bases)
    x = np.random.default_rng(5).uniform(-2, 0, (rows, columns))
    x = (x + np.array(bases)[:, None]).astype(np.float32)
    index = row_major([("x0", rows), ("r0", columns)])
    stages: list[kp.Stage] = [
        kp.LoopStage(
            (
                kp.Load("a", "in_ptr0", index, "float32"),
                kp.Compute("e", "exp", ("a",), "float32"),
                kp.Reduce(("total",), "sum", ("e",), ("float32",)),
                kp.Store("out_ptr0", index, "e"),
            )
        ),
        kp.PointStage((kp.Store("out_ptr1", "x0", "total"),)),
        kp.LoopStage(
            (
                kp.Compute("y", "truediv", ("e", "total"), "float32"),
                kp.Store("out_ptr2", index, "y"),
            )
        ),
    ]
    buffers = [
        plans.buffer("in_ptr0", "float32", "read", (rows, columns)),
        plans.buffer("out_ptr0", "float32", "write", (rows, columns)),
        plans.buffer("out_ptr1", "float32", "write", (rows,)),
        plans.buffer("out_ptr2", "float32", "write", (rows, columns)),
    ]
    plan = plans.kernel(
        "shares", buffers, stages, plans.parallel(x0=rows), plans.reduction(r0=columns),
        lane_axis="r0", staged=("e",),
    )  # fmt: skip
    e, total, y = np.zeros_like(x), np.zeros(rows, np.float32), np.zeros_like(x)
    run(
        plan, {"in_ptr0": x}, {"out_ptr0": e, "out_ptr1": total, "out_ptr2": y}, isa=isa
    )
    with np.errstate(all="ignore"):
        expected = (e.astype(np.float64) / total[:, None]).astype(np.float32)
    np.testing.assert_allclose(y, expected, rtol=2.5e-7, atol=2e-45)
