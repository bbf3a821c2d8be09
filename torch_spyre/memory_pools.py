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
    """

    def __init__(
        self, allocator: None = None, use_on_oom: bool = False, no_split: bool = False
    ) -> None:
        for name, value in (
            ("allocator", allocator),
            ("use_on_oom", use_on_oom),
            ("no_split", no_split),
        ):
            if value:
                raise ValueError(
                    f"torch.spyre.MemPool does not support {name}={value!r}"
                )
        self._id: tuple[int, int] = _C.new_mempool_id()
        self._devices: set[int] = set()  # cards on which this object holds the pool

    @property
    def id(self) -> tuple[int, int]:
        """The pool's id, as torch.spyre.graph(pool=...) takes it."""
        return self._id

    @property
    def allocator(self) -> None:
        """None: the native allocator serves every pool."""
        return None

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
    _C.begin_allocate_to_pool(index, pool.id)
    held_before = index in pool._devices
    pool._devices.add(index)
    try:
        yield
    finally:
        _C.end_allocate_to_pool(index, pool.id)
        if held_before:
            _C.release_pool(index, pool.id)
