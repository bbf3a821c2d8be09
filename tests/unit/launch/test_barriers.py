"""Which kernels wait: those that meet a change, counted from the last barrier."""

from __future__ import annotations

import pytest

from spyre_inductor.launch.barriers import mark_barriers
from spyre_inductor.plan.launch_plan import (
    ExternStep,
    KernelStep,
    SeedStep,
    Step,
    TensorSlot,
)

# Slots 0 to 4 have memories of their own; 5 is a view of slot 0's.
SLOTS = tuple(
    TensorSlot(name, memory, "float32", (4,), (1,))
    for name, memory in zip("abcdev", (0, 1, 2, 3, 4, 0), strict=True)
)


def kernel(reads: str, writes: str) -> KernelStep:
    names = [slot.name for slot in SLOTS]
    slots = tuple(names.index(name) for name in reads + writes)
    return KernelStep(
        "k", slots, writes=tuple(range(len(reads), len(reads) + len(writes)))
    )


def barriers(*steps: Step) -> list[bool]:
    marked = mark_barriers(steps, SLOTS)
    return [step.barrier for step in marked if isinstance(step, KernelStep)]


@pytest.mark.parametrize(
    ("first", "second", "waits"),
    [
        (("a", "b"), ("a", "c"), False),
        (("a", "b"), ("c", "d"), False),
        (("a", "b"), ("b", "c"), True),  # read after write
        (("a", "b"), ("c", "a"), True),  # write after read
        (("a", "b"), ("c", "b"), True),  # write after write
        (("c", "v"), ("a", "b"), True),  # a view of what was written
    ],
)
def test_pairs(first: tuple[str, str], second: tuple[str, str], waits: bool) -> None:
    assert barriers(kernel(*first), kernel(*second)) == [False, waits]


def test_a_barrier_is_for_everything_before_it() -> None:
    chain = (kernel("a", "b"), kernel("b", "c"), kernel("b", "d"), kernel("c", "e"))
    # The third reads b, which the barrier of the second has waited for; the fourth reads c.
    assert barriers(*chain) == [False, True, False, True]


def test_conflict_with_an_older_step_of_the_same_phase() -> None:
    assert barriers(kernel("a", "b"), kernel("a", "c"), kernel("b", "d")) == [
        False,
        False,
        True,
    ]


def test_an_extern_call_ends_what_was_before_but_seeds_do_not() -> None:
    extern = ExternStep("aten::mm", "out", ())
    assert barriers(kernel("a", "b"), extern, kernel("b", "c")) == [False, False]
    assert barriers(kernel("a", "b"), SeedStep(4), kernel("b", "c")) == [False, True]
