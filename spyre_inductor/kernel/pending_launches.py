"""Launches that wait to be joined by others that do not depend on them.

Neighbouring kernels without dependencies (the parameters of an optimizer step, the two gradients
of a norm) become one KernelGroup, so one launch. While launches wait, so do the releases of the
buffers that they read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch._inductor.virtualized import V
from torch.utils._ordered_set import OrderedSet

from spyre_inductor.plan.kernel_plan import KernelGroup, KernelPlan
from spyre_inductor.plan.verify import graph_buffers, verify_group

# Kernels of one group; beyond that a launch costs little beside its work.
_MAX_MEMBERS = 32


@dataclass(frozen=True)
class Launch:
    """One kernel and what it is called with: buffer names, then sizes."""

    plan: KernelPlan
    args: tuple[Any, ...]
    operations: OrderedSet[str]  # scheduler nodes that it computes
    node: Any  # the scheduler's node when it was made


class PendingLaunches:
    """At most one group in the making."""

    def __init__(self, scheduler: Any) -> None:
        self._scheduler = scheduler
        self._launches: list[Launch] = []
        self._touched: set[str] = set()
        self._changed: set[str] = set()
        self._releases: OrderedSet[str] = OrderedSet()

    def __bool__(self) -> bool:
        return bool(self._launches)

    def flush_if_needed_by(self, node: Any) -> None:
        """Writes the waiting launches when `node` depends on one of them."""
        waiting = OrderedSet(
            name for launch in self._launches for name in launch.operations
        )
        if node.ancestors & waiting:
            self.flush()

    def flush_if_shared_with(self, plan: KernelPlan) -> None:
        """Writes the waiting launches when `plan` changes what they use, or the reverse.

        Dependencies do not show that: a buffer may be updated in place by its last reader.
        """
        accessed, changed = graph_buffers(plan)
        if changed & self._touched or accessed & self._changed:
            self.flush()

    def add(self, launch: Launch) -> None:
        """Lets `launch` wait; it is independent of the others by the two checks above."""
        self._launches.append(launch)
        accessed, changed = graph_buffers(launch.plan)
        self._touched |= accessed
        self._changed |= changed
        if launch.plan.checks or len(self._launches) == _MAX_MEMBERS:
            self.flush()

    def delay_releases(self) -> None:
        """Keeps buffers whose last reader is waiting."""
        self._releases |= self._scheduler.buffer_names_to_free
        self._scheduler.buffer_names_to_free = OrderedSet()

    def flush(self) -> None:
        """Writes what waits as one launch, then the releases."""
        if not self._launches:
            return
        launches, self._launches = self._launches, []
        self._touched, self._changed = set(), set()
        # A kernel with checks cannot be a member; it came last.
        if launches[-1].plan.checks:
            _write(launches[:-1])
            _write(launches[-1:])
        else:
            _write(launches)
        self._release(launches[-1].node)

    def _release(self, last_node: Any) -> None:
        """Releases what was kept, as if the scheduler had not gone on from `last_node`.

        Memory planning dates a release by the scheduler's current node.
        """
        scheduler = self._scheduler
        later, current = scheduler.buffer_names_to_free, scheduler.current_node
        scheduler.buffer_names_to_free, self._releases = self._releases, OrderedSet()
        scheduler.current_node = last_node
        scheduler.free_buffers()
        scheduler.buffer_names_to_free, scheduler.current_node = later, current


def _write(launches: list[Launch]) -> None:
    wrapper = V.graph.wrapper_code
    if len(launches) == 1:
        wrapper.generate_spyre_kernel_call(launches[0].plan, launches[0].args)
    if len(launches) < 2:
        return
    members = tuple(launch.plan for launch in launches)
    name = f"{launches[0].plan.name}_group"
    group = wrapper.define_spyre_group(verify_group(KernelGroup(name, members)))
    buffers: list[Any] = []
    sizes: list[Any] = []
    for launch in launches:
        count = len(launch.plan.buffers)
        buffers += launch.args[:count]
        sizes += launch.args[count:]
    wrapper.generate_spyre_group_call(group, [*buffers, *sizes])
