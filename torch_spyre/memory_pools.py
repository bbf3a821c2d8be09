"""Private memory pools: allocations of one thread, or of a graph, kept apart from the others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch_spyre import _C
from torch_spyre.devices import Device, _get_device_index


class MemPool:
    """A pool of memory of the caching allocator.

    Its memory goes back when the object is gone and no block of it is in use.

    Args:
        allocator: what SpyrePluggableAllocator.allocator() gives; its functions then serve every
            allocation of the pool, without caching. None is the native allocator.
        use_on_oom: allocations outside of the pool may take its free memory before they fail.
        no_split: every allocation of the pool gets a segment of its own.
    """

    def __init__(
        self,
        allocator: tuple[int, int] | None = None,
        use_on_oom: bool = False,
        no_split: bool = False,
    ) -> None:
        if allocator is not None and (
            not isinstance(allocator, tuple) or len(allocator) != 2
        ):
            raise TypeError(
                "allocator must be None or the result of SpyrePluggableAllocator.allocator(), "
                f"got {type(allocator).__name__}"
            )
        self._id: tuple[int, int] = _C.new_mempool_id()
        self._allocator = allocator
        self._options = (no_split, use_on_oom)
        self._devices: set[int] = set()  # cards on which this object holds the pool

    @property
    def id(self) -> tuple[int, int]:
        """The pool's id, as torch.spyre.graph(pool=...) takes it."""
        return self._id

    @property
    def allocator(self) -> tuple[int, int] | None:
        """The allocator given; None is the native one."""
        return self._allocator

    def use_count(self) -> int:
        """How many holders the pool has: this object and each active use_mem_pool()."""
        return 1 + _C.active_pool_uses(self._id)

    def snapshot(self, include_traces: bool = True) -> list[dict[str, Any]]:
        """The pool's segments, in the form of memory_snapshot()."""
        from torch_spyre.memory_history import memory_snapshot

        return memory_snapshot(self._id, include_traces=include_traces)

    def __del__(self) -> None:
        for index in getattr(self, "_devices", ()):
            _C.release_pool(index, self._id)


@contextlib.contextmanager
def use_mem_pool(pool: MemPool, device: Device = None) -> Iterator[None]:
    """This thread's allocations on a card come from `pool` inside the with block."""
    index = _get_device_index(device, optional=True)
    if pool.allocator is not None:
        _C.begin_pluggable_pool(index, pool.id, *pool.allocator)
        try:
            yield
        finally:
            _C.end_pluggable_pool(pool.id)
        return
    held_before = index in pool._devices
    if not held_before:
        _C.set_pool_options(index, pool.id, *pool._options)
        pool._devices.add(index)
    _C.begin_allocate_to_pool(index, pool.id)
    try:
        yield
    finally:
        _C.end_allocate_to_pool(index, pool.id)
        if held_before:
            _C.release_pool(index, pool.id)
