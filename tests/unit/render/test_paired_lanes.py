"""bfloat16 kernels in pairs of steps: which run so, and that every value is eager's bit for bit."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.plan.op_table import COMPUTE_OPS
from spyre_inductor.render.lane_analysis import LaneAnalysis
from spyre_inductor.render.nan_payloads import ARITHMETIC
from spyre_inductor.render.paired_lanes import paired_stores
from spyre_inductor.render.renderer import render_module
from tests.support import plans
from tests.support.kernels import run
from tests.support.plans import add, mul, row_major

ISAS = ["native", "avx2", "scalar"]
SIZE = 1 << 16


def _all_values() -> np.ndarray:
    return np.arange(SIZE, dtype=np.uint32).astype(np.uint16)


def _shuffled() -> np.ndarray:
    return np.random.default_rng(4).permutation(_all_values())


def _rounded(x: np.ndarray) -> np.ndarray:
    """bfloat16 bits of float32 numbers, by integers; one pattern for all NaNs."""
    bits = x.view(np.uint32).astype(np.uint64)
    nearest = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(x), np.uint16(0x7FC0), nearest)


def _one_nan(bits: np.ndarray) -> np.ndarray:
    return np.where((bits & 0x7FFF) > 0x7F80, np.uint16(0x7FC0), bits)


def _pointwise(ops: list[kp.Operation], out: tuple[str, ...]) -> kp.KernelPlan:
    loads = [kp.Load(f"a{i}", f"in_ptr{i}", "x0", "float32") for i in range(2)]
    buffers = [
        plans.buffer(f"in_ptr{i}", "bfloat16", "read", (SIZE,)) for i in range(2)
    ]
    buffers += [
        plans.buffer(f"out_ptr{i}", dtype, "write", (SIZE,))
        for i, dtype in enumerate(out)
    ]
    stage = kp.PointStage((*loads, *ops))
    axes = plans.parallel(x0=SIZE)
    return plans.kernel("pair", buffers, [stage], axes, lane_axis="x0", grain=64)


@pytest.mark.parametrize(
    "isa", ["native", pytest.param("avx2", marks=pytest.mark.slow), "scalar"]
)
def test_every_operator_on_every_value(isa: str) -> None:
    unary = [name for name in sorted(ARITHMETIC) if COMPUTE_OPS[name][0] == 1]
    binary = [name for name in sorted(ARITHMETIC) if COMPUTE_OPS[name][0] == 2]
    for names, operands in ((unary, ("a0",)), (binary, ("a0", "a1"))):
        for name in names if isa == "native" else names[::6]:
            _check_operator(name, operands, isa)


def _check_operator(name: str, operands: tuple[str, ...], isa: str) -> None:
    computed = kp.Compute("y", name, operands, "float32")
    cast = kp.Cast("r", "y", "float32", rounds_to="bfloat16")
    back = kp.Compute("n", "neg", ("r",), "float32")
    stores = [kp.Store("out_ptr0", "x0", "y"), kp.Store("out_ptr1", "x0", "n")]
    paired = _pointwise([computed, cast, back, *stores], ("bfloat16", "bfloat16"))
    source = render_module([paired], "test")
    assert "for_paired_lanes<2>" in source and "round_clear_bf16" in source
    plain = _pointwise([computed, stores[0]], ("float32",))
    assert "for_paired_lanes" not in render_module([plain], "test")
    inputs = {"in_ptr0": _all_values(), "in_ptr1": _shuffled()}
    stored, negated = np.zeros(SIZE, np.uint16), np.zeros(SIZE, np.uint16)
    exact = np.zeros(SIZE, np.float32)
    run(paired, inputs, {"out_ptr0": stored, "out_ptr1": negated}, isa=isa)
    run(plain, inputs, {"out_ptr0": exact}, isa=isa)
    expected = _rounded(exact)
    np.testing.assert_array_equal(_one_nan(stored), expected, name)
    np.testing.assert_array_equal(_one_nan(negated ^ 0x8000), expected, name)


def test_a_value_of_float32_memory_keeps_the_test_for_nans() -> None:
    row = kp.Load("w", "in_ptr2", 0, "float32")  # one number for all lanes
    ops: list[kp.Operation] = [
        row,
        kp.Compute("y", "add", ("a0", "w"), "float32"),
        kp.Store("out_ptr0", "x0", "y"),
    ]
    plan = _pointwise(ops, ("bfloat16",))
    number = plans.buffer("in_ptr2", "float32", "read", (1,))
    plan = dataclasses.replace(plan, buffers=(*plan.buffers, number))
    assert "store<0, Nan::kAny>" in render_module([plan], "test")
    all_ones = np.array([0xFFFFFFFF], np.uint32).view(np.float32)
    out = np.zeros(SIZE, np.uint16)
    inputs = {"in_ptr0": _all_values(), "in_ptr1": _shuffled(), "in_ptr2": all_ones}
    run(plan, inputs, {"out_ptr0": out})
    assert ((out & 0x7FFF) > 0x7F80).all()


def _rows(columns: int, *, staged: bool = True) -> kp.KernelPlan:
    """Rows divided by their sums, kept in LX between; in place of the input."""
    rows = 37
    index = row_major([("x0", rows), ("r0", columns)])
    again = kp.Load("b", "in_out_ptr0", index, "float32")
    loops: list[kp.Stage] = [
        kp.LoopStage(
            (
                kp.Load("a", "in_out_ptr0", index, "float32"),
                kp.Compute("e", "mul", ("a", "a"), "float32"),
                kp.Reduce(("total",), "sum", ("e",), ("float32",)),
            )
        ),
        kp.LoopStage(
            (
                *(() if staged else (again, kp.Compute("f", "mul", ("b", "b"), "float32"))),
                kp.Compute("y", "truediv", ("e" if staged else "f", "total"), "float32"),
                kp.Store("in_out_ptr0", index, "y"),
            )
        ),
    ]  # fmt: skip
    buffers = [plans.buffer("in_out_ptr0", "bfloat16", "readwrite", (rows, columns))]
    return plans.kernel(
        "rows", buffers, loops, plans.parallel(x0=rows), plans.reduction(r0=columns),
        lane_axis="r0", staged=("e",) if staged else (),
    )  # fmt: skip


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("columns", [64, 4096])
@pytest.mark.parametrize("staged", [True, False])
def test_rows_in_lx_and_in_place(isa: str, columns: int, staged: bool) -> None:
    plan = _rows(columns, staged=staged)
    source = render_module([plan], "test")
    assert "reduce_paired_lanes<1>" in source
    rng = np.random.default_rng(8)
    memory = _rounded(rng.standard_normal((37, columns)).astype(np.float32))
    x = (memory.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    run(plan, {}, {"in_out_ptr0": memory}, isa=isa)
    y = (memory.astype(np.uint32) << 16).view(np.float32)
    expected = x * x / (x * x).sum(1, keepdims=True)
    np.testing.assert_allclose(y, expected, rtol=2**-8)


def _is_paired(plan: kp.KernelPlan) -> bool:
    return paired_stores(LaneAnalysis(plan)) is not None


def test_what_does_not_run_in_pairs() -> None:
    y = kp.Compute("y", "add", ("a0", "a1"), "float32")
    store = kp.Store("out_ptr0", "x0", "y")
    plan = _pointwise([y, store], ("bfloat16",))
    assert _is_paired(plan)
    assert not _is_paired(_pointwise([y, store], ("float32",)))
    stages: dict[str, list[kp.Operation]] = {
        "lane number": [kp.IndexValue("i", "x0", "int64"), y, store],
        "strided load": [kp.Load("b", "in_ptr0", mul("x0", 2), "float32"), y, store],
        "masked load": [
            kp.Compute("m", "lt", ("a0", "a1"), "bool"),
            kp.Load("b", "in_ptr0", "x0", "float32", "m"),
            y,
            store,
        ],
        "read after store": [y, store, kp.Load("b", "out_ptr0", "x0", "float32")],
        "store of one element": [y, kp.Store("out_ptr0", 0, "y")],
        "check": [
            kp.Compute("m", "lt", ("a0", "a1"), "bool"),
            kp.Assert("m", 0),
            y,
            store,
        ],
    }
    for name, ops in stages.items():
        assert not _is_paired(_pointwise(ops, ("bfloat16",))), name
    assert _is_paired(
        _pointwise([kp.Load("b", "in_ptr0", add("x0", 1), "float32"), y, store], ("bfloat16",))
    )  # fmt: skip
    odd = dataclasses.replace(plan, axes=plans.parallel(x0=SIZE - 16))
    assert not _is_paired(odd)
    division = dataclasses.replace(plan.division, grain=16)
    assert not _is_paired(dataclasses.replace(plan, division=division))
    assert not _is_paired(_rows(96))
