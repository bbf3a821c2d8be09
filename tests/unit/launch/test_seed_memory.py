"""Seeds are drawn before a launch plan's first step: no earlier buffer may share their memory."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from torch._inductor import ir

from spyre_inductor.launch.extern_steps import NotExpressible, _out_call
from spyre_inductor.launch.plan_builder import PlanBuilder
from spyre_inductor.plan.launch_plan import SeedStep


def builder_of(*memories: int) -> SimpleNamespace:
    """A builder whose last slot holds the seeds; `memories` are the slots' memories, in order."""
    builder = SimpleNamespace(
        _slots=[SimpleNamespace(memory=memory) for memory in memories],
        slot_for=lambda node: len(memories) - 1,
    )
    builder.is_first_in_memory = lambda slot: PlanBuilder.is_first_in_memory(
        builder, slot
    )
    return builder


def test_seeds_in_memory_of_their_own() -> None:
    node = ir.RandomSeeds.__new__(ir.RandomSeeds)
    assert _out_call(builder_of(0, 1, 2), node) == SeedStep(2)


def test_seeds_in_memory_that_an_earlier_buffer_had() -> None:
    node = ir.RandomSeeds.__new__(ir.RandomSeeds)
    with pytest.raises(NotExpressible, match="used memory"):
        _out_call(builder_of(0, 1, 0), node)
