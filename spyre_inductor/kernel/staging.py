"""Keeps what one reduction loop stored for a later loop of the same kernel in LX.

Inductor forgets values at the end of a loop, writes them to a buffer and reads that back. When
nobody else needs the buffer, the row stays in LX and the buffer is never made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy
from torch._inductor.virtualized import V
from torch.utils._ordered_set import OrderedSet

from spyre_inductor.plan.limits import LX_BUDGET_BYTES

from .values import IN_LOOP, SpyreCSEVariable

# Lanes beside the row when they run along a parallel axis.
MAX_LANES = 16
# Half of LX; the rest holds the tiles of the kernel's buffers.
STAGED_BYTES_LIMIT = LX_BUDGET_BYTES // 2


@dataclass(frozen=True)
class _LoopStore:
    index: sympy.Expr
    value: SpyreCSEVariable


class LoopStaging:
    """What earlier loops of one kernel stored, and which of it is staged."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._current: dict[str, _LoopStore] = {}
        self._earlier: dict[str, _LoopStore] = {}
        self._read_from_memory: set[str] = set()
        self.names: list[str] = []
        self.bytes = 0

    def note_store(self, name: str, index: sympy.Expr, value: SpyreCSEVariable) -> None:
        """Remembers that the current loop stores `value` to buffer `name`."""
        if value.place == IN_LOOP:
            self._current[name] = _LoopStore(index, value)
        self._earlier.pop(name, None)

    def end_loop(self) -> None:
        """The current loop's stores become an earlier loop's."""
        self._earlier.update(self._current)
        self._current = {}

    def value_of(self, name: str, index: sympy.Expr) -> SpyreCSEVariable | None:
        """The staged value that a load of `name` at `index` would read, or None."""
        store = self._earlier.get(name)
        usable = (
            store is not None
            and self._kernel.inside_reduction
            and store.index == index
            and name not in self._read_from_memory
            and self._only_this_kernel_reads(name)
            and self._make_room(store.value)
        )
        if not usable:
            self._read_from_memory.add(name)
            return None
        assert store is not None
        # CSEProxy keeps every buffer that is read back; this one is not.
        self._kernel.must_keep_buffers.discard(name)
        store.value.place = IN_LOOP
        return store.value

    def _only_this_kernel_reads(self, name: str) -> bool:
        scheduler = V.graph.scheduler
        nodes = self._kernel.features.scheduler_nodes()
        names = OrderedSet(node.get_name() for node in nodes)
        return scheduler.can_buffer_be_removed_through_fusion(name, names)

    def _make_room(self, value: SpyreCSEVariable) -> bool:
        if value.name in self.names:
            return True
        size = staged_bytes(self._kernel.features.reduction_numel, value.dtype.itemsize)
        if size is None or self.bytes + size > STAGED_BYTES_LIMIT:
            return False
        self.names.append(value.name)
        self.bytes += size
        return True


def staged_bytes(reduction_numel: sympy.Expr, itemsize: int) -> int | None:
    """LX bytes of one staged value, or None when the row's length is not known."""
    if not reduction_numel.is_Integer:
        return None
    return int(reduction_numel) * max(4, itemsize)
