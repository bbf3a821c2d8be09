"""Long sums and moments run in blocks: their error is a tree's, and alike on every processor."""

from __future__ import annotations

import numpy as np
import pytest

from spyre_inductor.plan import kernel_plan as kp
from tests.support import plans
from tests.support.kernels import run
from tests.support.plans import row_major

EPS = float(np.finfo(np.float32).eps) / 2


def _plan(kind: str, extents: dict[str, int], order: str, lane: str) -> kp.KernelPlan:
    """Reduces all axes of `extents` but x0; the input's axes lie in `order`, outermost first."""
    names = ("t0", "t1", "t2") if kind == "welford" else ("t0",)
    index = row_major([(name, extents[name]) for name in order.split()])
    loop = kp.LoopStage(
        (
            kp.Load("a", "in_ptr0", index, "float32"),
            kp.Reduce(names, kind, ("a",), ("float32",) * len(names)),
        )
    )
    store = kp.PointStage((kp.Store("out_ptr0", "x0", names[len(names) // 2]),))
    shape = tuple(extents[name] for name in order.split())
    buffers = [
        plans.buffer("in_ptr0", "float32", "read", shape),
        plans.buffer("out_ptr0", "float32", "write", (extents["x0"],)),
    ]
    reduced = {name: extents[name] for name in extents if name != "x0"}
    return plans.kernel(
        f"long_{kind}", buffers, [loop, store], plans.parallel(x0=extents["x0"]),
        plans.reduction(**reduced), lane_axis=lane,
    )  # fmt: skip


LAYOUTS = {
    # name: extents, order in memory, lane axis
    "rows": ({"x0": 5, "r0": 70_003}, "x0 r0", "r0"),
    "whole_rows": ({"x0": 5, "r0": 65_536}, "x0 r0", "r0"),
    "columns": ({"x0": 37, "r0": 20_011}, "r0 x0", "x0"),
    "scalars": ({"x0": 3, "r0": 70_003}, "x0 r0", ""),
    "short_runs": ({"x0": 3, "r0": 3_001, "r1": 20}, "r0 x0 r1", "r1"),
    "long_runs": ({"x0": 3, "r0": 11, "r1": 5_003}, "r0 x0 r1", "r1"),
    "columns_of_two": ({"x0": 20, "r0": 7, "r1": 1_501}, "r0 r1 x0", "x0"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "kind", ["sum", pytest.param("welford", marks=pytest.mark.slow)]
)
def test_error_is_a_trees(layout: str, kind: str) -> None:
    extents, order, lane = LAYOUTS[layout]
    plan = _plan(kind, extents, order, lane or None)
    shape = tuple(extents[name] for name in order.split())
    # Alike, so that roundings of a running sum do not cancel.
    x = (1 + np.random.default_rng(3).random(shape) / 8).astype(np.float32)
    axes = tuple(n for n, name in enumerate(order.split()) if name != "x0")
    exact = x.astype(np.float64)
    expected = exact.sum(axes)
    if kind == "welford":
        expected = exact.var(axes) * (x.size // extents["x0"])
    results = []
    for isa in ("native", "avx2", "scalar"):
        out = np.zeros(extents["x0"], np.float32)
        run(plan, {"in_ptr0": x}, {"out_ptr0": out}, isa=isa)
        results.append(out)
        # Running sums of these leave 1e-5 and more.
        worst = np.max(np.abs(out - expected) / expected)
        assert worst <= (16 if kind == "sum" else 64) * EPS, worst
    np.testing.assert_array_equal(results[0], results[1])
    if kind == "sum":  # the last bits of fused operations differ without them
        np.testing.assert_array_equal(results[0], results[2])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_infinity_and_nan_stay_in_their_result(layout: str) -> None:
    extents, order, lane = LAYOUTS[layout]
    plan = _plan("sum", extents, order, lane or None)
    position = order.split().index("x0")
    x = np.ones(tuple(extents[name] for name in order.split()), np.float32)
    rows = np.moveaxis(x, position, 0)
    rows[0].flat[-1], rows[1].flat[77] = np.inf, np.nan
    out = np.zeros(extents["x0"], np.float32)
    run(plan, {"in_ptr0": x}, {"out_ptr0": out})
    assert np.isposinf(out[0]) and np.isnan(out[1])
    np.testing.assert_array_equal(out[2:], x.size // extents["x0"])
