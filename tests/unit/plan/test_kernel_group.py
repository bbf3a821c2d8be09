"""Rules for kernels that share a launch, each by one group that breaks it."""

from __future__ import annotations

import dataclasses

import pytest

from spyre_inductor.errors import PlanError
from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.plan.verify import verify_group
from tests.support import plans


def _copy(name: str, source: str, target: str, cores: int = 4) -> kp.KernelPlan:
    """target[x] = source[x]; graph buffers have the arguments' names."""
    buffers = (
        plans.buffer("in_ptr0", "float32", "read", (64,)),
        plans.buffer("out_ptr0", "float32", "write", (64,)),
    )
    return kp.KernelPlan(
        name=name,
        template="loops",
        buffers=tuple(
            dataclasses.replace(b, buffers=(graph_name,))
            for b, graph_name in zip(buffers, (source, target))
        ),
        scalars=(),
        axes=plans.parallel(x0=64),
        reduction_axes=(),
        stages=(
            kp.PointStage(
                (
                    kp.Load("t0", "in_ptr0", "x0", "float32"),
                    kp.Store("out_ptr0", "x0", "t0"),
                )
            ),
        ),
        division=kp.Division(("x0",), cores),
        tile=kp.LxTile((("x0", 64),), 512),
        lane_axis="x0",
    )


FIRST, SECOND = _copy("first", "a", "b"), _copy("second", "a", "c")
AFTER = _copy("after", "b", "d", cores=1)


def test_a_good_group_passes_unchanged() -> None:
    group = kp.KernelGroup("group", (FIRST, SECOND), (AFTER,))
    assert verify_group(group) is group
    assert [b.buffers[0] for b in group.buffers] == ["a", "b", "a", "c", "b", "d"]


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (kp.KernelGroup("g", (FIRST,)), "a group of one kernel"),
        (kp.KernelGroup("g", (), (AFTER, AFTER)), "a group of one kernel"),
        (kp.KernelGroup("g", (FIRST, AFTER)), r"share \['b'\]"),
        (kp.KernelGroup("g", (FIRST,), (_copy("t", "b", "d"),)), "over 4 cores"),
        (
            kp.KernelGroup(
                "g", (FIRST, dataclasses.replace(SECOND, workspace_bytes=8))
            ),
            "second has a workspace",
        ),
    ],
)
def test_each_rule(group: kp.KernelGroup, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        verify_group(group)
