"""Loads, stores, checks, random numbers: what a kernel may touch, and that it touches all of it."""

from __future__ import annotations

import numpy as np
import pytest

from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.plan.expr import IntOp
from spyre_inductor.render.operations import STREAMED_BYTES
from spyre_inductor.render.renderer import render_module
from tests.support import plans
from tests.support.kernels import launch, run
from tests.support.plan_random import random_values
from tests.support.plans import add, mul

SIZE = 77
ISAS = ["native", "avx2", "scalar"]


def _one_stage(
    name: str,
    buffers: list[kp.BufferArgument],
    ops: list[kp.Operation],
    **options: object,
) -> kp.KernelPlan:
    stage = kp.PointStage(tuple(ops))
    return plans.kernel(
        name,
        buffers,
        [stage],
        plans.parallel(x0=SIZE),
        lane_axis="x0",
        grain=16,
        **options,
    )


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16", "bool"])
@pytest.mark.parametrize("stride", [0, 2, 3, -1])
def test_strided_loads_and_stores(isa: str, dtype: str, stride: int) -> None:
    base = SIZE - 1 if stride < 0 else 0
    index = add(base, mul(stride, "x0")) if stride else 5
    buffers = [
        plans.buffer("in_ptr0", dtype, "read", (3 * SIZE,)),
        plans.buffer("out_ptr0", dtype, "write", (3 * SIZE,)),
    ]
    ops = [
        kp.Load("a", "in_ptr0", index, dtype),
        kp.Store("out_ptr0", mul(3, "x0"), "a"),
    ]
    plan = _one_stage("strided", buffers, ops)
    rng = np.random.default_rng(0)
    x = (rng.random(3 * SIZE) * 100).astype(dtype)
    if dtype == "bool":
        x = rng.random(3 * SIZE) < 0.5
    out = np.zeros(3 * SIZE, dtype)
    run(plan, {"in_ptr0": x}, {"out_ptr0": out}, isa=isa)
    points = np.arange(SIZE)
    expected = np.zeros(3 * SIZE, dtype)
    expected[3 * points] = x[base + stride * points if stride else 5]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("stride", [1, 2])
def test_masked_lanes_are_not_read(isa: str, stride: int) -> None:
    """Lanes beyond the 20 elements of the buffer give 0."""
    buffers = [
        plans.buffer("in_ptr0", "float32", "read", (20,)),
        plans.buffer("out_ptr0", "float32", "write", (SIZE,)),
    ]
    index = mul(stride, "x0") if stride > 1 else "x0"
    ops = [
        kp.IndexValue("i", index, "int64"),
        kp.Constant("limit", 20, "int64"),
        kp.Compute("inside", "lt", ("i", "limit"), "bool"),
        kp.Load("a", "in_ptr0", index, "float32", "inside"),
        kp.Store("out_ptr0", "x0", "a"),
    ]
    x = np.arange(1, 21, dtype=np.float32)
    out = np.full(SIZE, 9, np.float32)
    run(_one_stage("masked", buffers, ops), {"in_ptr0": x}, {"out_ptr0": out}, isa=isa)
    expected = np.zeros(SIZE, np.float32)
    count = -(-20 // stride)
    expected[:count] = x[::stride]
    np.testing.assert_array_equal(out, expected)


def _gather_plan() -> kp.KernelPlan:
    buffers = [
        plans.buffer("in_ptr0", "int64", "read", (SIZE,)),
        plans.buffer("in_ptr1", "float32", "read", ("ks0",)),
        plans.buffer("out_ptr0", "float32", "write", (SIZE,)),
    ]
    ops = [
        kp.Load("i", "in_ptr0", "x0", "int64"),
        kp.CheckBounds("i", 0, "ks0", 0),
        kp.Load("a", "in_ptr1", "i", "float32"),
        kp.Store("out_ptr0", "x0", "a"),
    ]
    scalars = [kp.ScalarArgument("ks0", "int64", 50)]
    return _one_stage(
        "indirect", buffers, ops, checks=["index out of range"], scalars=scalars
    )


@pytest.mark.parametrize("isa", ISAS)
def test_gather(isa: str) -> None:
    rng = np.random.default_rng(0)
    index, table = rng.integers(0, 50, SIZE), rng.random(50, dtype=np.float32)
    out = np.zeros(SIZE, np.float32)
    error = launch(_gather_plan(), [index, table, out], [50], isa=isa)
    assert error.code == 0
    np.testing.assert_array_equal(out, table[index])


@pytest.mark.parametrize("position", [0, 15, 16, 76])
@pytest.mark.parametrize("value", [-1, 50, 2**62])
def test_index_out_of_bounds_is_reported_and_not_read(
    position: int, value: int
) -> None:
    index = np.zeros(SIZE, np.int64)
    index[position] = value
    out = np.zeros(SIZE, np.float32)
    error = launch(_gather_plan(), [index, np.ones(50, np.float32), out], [50])
    assert (error.code, error.check, error.value) == (1, 0, value)
    assert (error.lower, error.upper) == (0, 50)


def test_gather_from_nothing_is_an_error() -> None:
    out, empty = np.zeros(SIZE, np.float32), np.zeros(0, np.float32)
    error = launch(_gather_plan(), [np.zeros(SIZE, np.int64), empty, out], [0])
    assert (error.code, error.value, error.upper) == (1, 0, 0)


@pytest.mark.parametrize("failing", [None, 3, 76])
def test_assertion(failing: int | None) -> None:
    buffers = [
        plans.buffer("in_ptr0", "bool", "read", (SIZE,)),
        plans.buffer("out_ptr0", "bool", "write", (SIZE,)),
    ]
    ops = [
        kp.Load("c", "in_ptr0", "x0", "bool"),
        kp.Assert("c", 0),
        kp.Store("out_ptr0", "x0", "c"),
    ]
    condition = np.ones(SIZE, bool)
    if failing is not None:
        condition[failing] = False
    plan = _one_stage("asserts", buffers, ops, checks=["must hold"])
    error = launch(plan, [condition, np.zeros(SIZE, bool)])
    assert error.code == (0 if failing is None else 2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8"])
def test_atomic_add_counts_duplicates(dtype: str) -> None:
    buffers = [
        plans.buffer("in_ptr0", "int64", "read", (SIZE,)),
        plans.buffer("out_ptr0", dtype, "readwrite", (5,)),
    ]
    ops = [
        kp.Load("i", "in_ptr0", "x0", "int64"),
        kp.Constant("one", 1, dtype),
        kp.Store("out_ptr0", "i", "one", "atomic_add"),
    ]
    index = np.random.default_rng(0).integers(0, 5, SIZE)
    out = np.zeros(5, dtype)
    run(_one_stage("count", buffers, ops), {"in_ptr0": index}, {"out_ptr0": out})
    np.testing.assert_array_equal(out, np.bincount(index, minlength=5))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("cores", [1, 7])
@pytest.mark.parametrize("kind", ["rand", "randn", "randint64"])
def test_random_numbers_depend_on_seed_and_offset_only(
    kind: str, cores: int, isa: str
) -> None:
    dtype = "int64" if kind == "randint64" else "float32"
    buffers = [
        plans.buffer("in_ptr0", "int64", "read", (1,)),
        plans.buffer("out_ptr0", dtype, "write", (SIZE,)),
    ]
    limits = ("low", "high") if kind == "randint64" else ()
    ops = [
        kp.Load("seed", "in_ptr0", 0, "int64"),
        kp.IndexValue("offset", "x0", "int64"),
        kp.Constant("low", -5, "int64"),
        kp.Constant("high", 9, "int64"),
        kp.Random("r", kind, ("seed", "offset", *limits), dtype),
        kp.Store("out_ptr0", "x0", "r"),
    ]
    seed = np.array([0x123456789ABCDEF], np.int64)
    out = np.zeros(SIZE, dtype)
    plan = _one_stage("random", buffers, ops)
    run(plan, {"in_ptr0": seed}, {"out_ptr0": out}, cores=cores, isa=isa)
    offset = np.arange(SIZE)
    args = [np.full(SIZE, seed[0]), offset, np.full(SIZE, -5), np.full(SIZE, 9)]
    expected = random_values(kind, args)
    np.testing.assert_allclose(out, expected, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_large_outputs_are_streamed_whatever_their_alignment(
    dtype: str, shift: int
) -> None:
    size = STREAMED_BYTES // 2 + 3
    plan = plans.pointwise(
        "stream", [(dtype, "float32")], [kp.Compute("y", "neg", ("a0",), "float32")],
        (dtype, "float32"), size, grain=1024,
    )  # fmt: skip
    assert "stream(lanes" in render_module([plan], "test")
    x = np.arange(size + shift, dtype=np.int64).astype(np.int16).astype(dtype)[shift:]
    out = np.zeros(size + shift, dtype)[shift:]
    run(plan, {"in_ptr0": x}, {"out_ptr0": out})
    np.testing.assert_array_equal(out, -x)


@pytest.mark.parametrize("isa", ["avx2"])
def test_instruction_sets_agree_bit_for_bit(isa: str) -> None:
    size = 1000
    ops = [
        kp.Compute("e", "exp", ("a0",), "float32"),
        kp.Compute("t", "tanh", ("e",), "float32"),
        kp.Compute("g", "erf", ("a0",), "float32"),
        kp.Compute("s", "sin", ("a0",), "float32"),
        kp.Compute("p", "mul", ("t", "g"), "float32"),
        kp.Compute("q", "add", ("p", "s"), "float32"),
        kp.Compute("y", "log1p", ("q",), "float32"),
    ]
    plan = plans.pointwise(
        "chain", [("float32", "float32")], ops, ("float32", "float32"), size
    )
    x = np.random.default_rng(0).standard_normal(size).astype(np.float32)
    outs = [np.zeros(size, np.float32) for _ in range(2)]
    run(plan, {"in_ptr0": x}, {"out_ptr0": outs[0]})
    run(plan, {"in_ptr0": x}, {"out_ptr0": outs[1]}, isa=isa)
    np.testing.assert_array_equal(outs[0].view(np.int32), outs[1].view(np.int32))


def test_index_divides_as_python() -> None:
    """(x0 - 40) // 7 and % 7 of negative numbers."""
    shifted = add("x0", -40)
    buffers = [
        plans.buffer("out_ptr0", "int64", "write", (SIZE,)),
        plans.buffer("out_ptr1", "int64", "write", (SIZE,)),
    ]
    ops = [
        kp.IndexValue("q", IntOp("floordiv", (shifted, 7)), "int64"),
        kp.IndexValue("r", IntOp("mod", (shifted, 7)), "int64"),
        kp.Store("out_ptr0", "x0", "q"),
        kp.Store("out_ptr1", "x0", "r"),
    ]
    outs = [np.zeros(SIZE, np.int64) for _ in range(2)]
    launch(_one_stage("divide", buffers, ops), outs)
    points = np.arange(SIZE) - 40
    np.testing.assert_array_equal(outs[0], points // 7)
    np.testing.assert_array_equal(outs[1], points % 7)
