"""Kernel groups: members over the cores, and a tail that the last core to finish runs."""

from __future__ import annotations

import numpy as np
import pytest

from spyre_inductor.plan import kernel_plan as kp
from tests.support import plans
from tests.support.kernels import launch_group

N = 100


def _scale(name: str, factor: float, limit: int) -> kp.KernelPlan:
    """out[x] = in[x] * factor, with a check that x < limit."""
    return kp.KernelPlan(
        name=name,
        template="loops",
        buffers=(
            plans.buffer("in_ptr0", "float32", "read", (N,)),
            plans.buffer("out_ptr0", "float32", "write", (N,)),
        ),
        scalars=(),
        axes=plans.parallel(x0=N),
        reduction_axes=(),
        stages=(
            kp.PointStage(
                (
                    kp.IndexValue("i", "x0", "int64"),
                    kp.CheckBounds("i", 0, limit, 0),
                    kp.Load("t0", "in_ptr0", "x0", "float32"),
                    kp.Constant("c", factor, "float32"),
                    kp.Compute("t1", "mul", ("t0", "c"), "float32"),
                    kp.Store("out_ptr0", "x0", "t1"),
                )
            ),
        ),
        division=kp.Division(("x0",), 4),
        tile=kp.LxTile((("x0", N),), 1024),
        lane_axis="x0",
        checks=(f"{name} checks",),
    )


def _total(name: str) -> kp.KernelPlan:
    """out[0] = sum of in[r]."""
    return kp.KernelPlan(
        name=name,
        template="loops",
        buffers=(
            plans.buffer("in_ptr0", "float32", "read", (N,)),
            plans.buffer("out_ptr0", "float32", "write", (1,)),
        ),
        scalars=(),
        axes=(),
        reduction_axes=plans.reduction(r0=N),
        stages=(
            kp.LoopStage(
                (
                    kp.Load("t0", "in_ptr0", "r0", "float32"),
                    kp.Reduce(("t1",), "sum", ("t0",), ("float32",)),
                )
            ),
            kp.PointStage((kp.Store("out_ptr0", 0, "t1"),)),
        ),
        division=kp.Division((), 1),
        tile=kp.LxTile((("r0", N),), 512),
        lane_axis="r0",
    )


@pytest.mark.parametrize("cores", [1, 3, 32])
def test_the_tail_sees_what_every_core_stored(cores: int) -> None:
    members = (_scale("twice", 2.0, N), _scale("thrice", 3.0, N))
    group = kp.KernelGroup("group", members, (_total("sum_b"), _total("sum_c")))
    a = np.arange(N, dtype=np.float32)
    b, c = np.zeros_like(a), np.zeros_like(a)
    sums = np.zeros(2, np.float32)
    arrays = [a, b, a, c, b, sums[:1], c, sums[1:]]
    assert launch_group(group, arrays, cores=cores).code == 0
    np.testing.assert_array_equal(sums, [2 * a.sum(), 3 * a.sum()])


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_a_failed_check_is_numbered_in_its_group(bad: int) -> None:
    limits = [N if number != bad else N - 7 for number in range(3)]
    kernels = [_scale(f"k{number}", 1.0, limit) for number, limit in enumerate(limits)]
    group = kp.KernelGroup("group", (kernels[0], kernels[1]), (kernels[2],))
    arrays = [np.zeros(N, np.float32) for _ in group.buffers]
    error = launch_group(group, arrays)
    assert error.code == 1 and group.checks[error.check] == f"k{bad} checks"
    assert N - 7 <= error.value < N
