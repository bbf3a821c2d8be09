"""Launches that wait to be joined by others.

Neighbouring kernels without dependencies (the parameters of an optimizer step, the two gradients
of a norm) become the members of one KernelGroup, so one launch. A kernel for one core that reads
what waits (the mean of a loss, the second half of a split reduction) becomes its tail. While
launches wait, so do the releases of the buffers that they read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch._inductor.codegen.common import WorkspaceArg
from torch._inductor.scheduler import fusion_log
from torch._inductor.virtualized import V
from torch.utils._ordered_set import OrderedSet

from spyre_inductor.plan.kernel_plan import KernelGroup, KernelPlan
from spyre_inductor.plan.verify import graph_buffers, verify_group

# Kernels of one group; beyond that a launch costs little beside its work.
_MAX_KERNELS = 32


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
        self._members: list[Launch] = []
        self._tail: list[Launch] = []
        self._touched: set[str] = set()
        self._changed: set[str] = set()
        self._releases: OrderedSet[str] = OrderedSet()
        self._workspaces: list[WorkspaceArg] = []

    def __bool__(self) -> bool:
        return bool(self._members)

    def is_needed_by(self, node: Any) -> bool:
        """Whether `node` depends on a waiting launch."""
        waiting = OrderedSet(
            name
            for launch in (*self._members, *self._tail)
            for name in launch.operations
        )
        return bool(node.ancestors & waiting)

    def make_room_for(self, plan: KernelPlan, cores: int, depends: bool) -> bool:
        """Writes what waits unless a kernel of `plan` over `cores` cores may join it.

        Args:
            depends: on what waits.

        Returns:
            Whether the kernel has to join the tail.
        """
        accessed, changed = graph_buffers(plan)
        # No dependency shows that a buffer's last reader updates it in place, and from then on the
        # buffer goes by another name, which the waiting launches do not know.
        updates = bool(changed & self._touched)
        reads = depends or bool(accessed & self._changed)
        if not self or not (updates or (reads and cores > 1)):
            return reads and bool(self)
        first = (self._members + self._tail)[0].plan.name
        reason = "updates in place what they use"
        if not updates:
            reason = f"reads what they write and is worth {cores} cores"
        fusion_log.debug(
            "%s does not join the launch of %s and others: it %s",
            plan.name,
            first,
            reason,
        )
        self.flush()
        return False

    def add(self, launch: Launch, in_tail: bool) -> None:
        """Lets `launch` wait; `make_room_for` has said whether it needs the ones before it."""
        (self._tail if in_tail and self else self._members).append(launch)
        accessed, changed = graph_buffers(launch.plan)
        self._touched |= accessed
        self._changed |= changed
        if len(self._members) + len(self._tail) == _MAX_KERNELS:
            self.flush()

    def delay_releases(self) -> None:
        """Keeps buffers whose last reader is waiting."""
        self._releases |= self._scheduler.buffer_names_to_free
        self._scheduler.buffer_names_to_free = OrderedSet()

    def release_later(self, workspace: WorkspaceArg) -> None:
        """Keeps `workspace` until what waits is written."""
        self._workspaces.append(workspace)
        if not self:
            self._release_workspaces()

    def flush(self) -> None:
        """Writes what waits as one launch, then the releases."""
        if not self:
            return
        members, self._members = self._members, []
        tail, self._tail = self._tail, []
        self._touched, self._changed = set(), set()
        _write(members, tail)
        self._release_workspaces()
        self._release([*members, *tail][-1].node)

    def _release_workspaces(self) -> None:
        workspaces, self._workspaces = self._workspaces, []
        for workspace in workspaces:
            V.graph.wrapper_code.generate_workspace_deallocation(workspace)

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


def _write(members: list[Launch], tail: list[Launch]) -> None:
    wrapper = V.graph.wrapper_code
    launches = [*members, *tail]
    if len(launches) == 1:
        wrapper.generate_spyre_kernel_call(launches[0].plan, launches[0].args)
        return
    group = KernelGroup(
        f"{launches[0].plan.name}_group",
        tuple(launch.plan for launch in members),
        tuple(launch.plan for launch in tail),
    )
    group = wrapper.define_spyre_group(verify_group(group))
    buffers: list[Any] = []
    sizes: list[Any] = []
    for launch in launches:
        count = len(launch.plan.buffers)
        buffers += launch.args[:count]
        sizes += launch.args[count:]
    wrapper.generate_spyre_group_call(group, [*buffers, *sizes])
