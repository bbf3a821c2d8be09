"""Device memory: statistics under CUDA's keys, limits, pools, raw allocations, pinned memory."""

from __future__ import annotations

import contextlib
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import torch
from typing_extensions import deprecated

from torch_spyre import _C
from torch_spyre.devices import Device, _get_device_index
from torch_spyre.memory_history import (  # noqa: F401
    _dump_snapshot,
    _get_memory_metadata,
    _record_memory_history,
    _save_memory_usage,
    _save_segment_usage,
    _set_memory_metadata,
    _snapshot,
    memory_snapshot,
)
from torch_spyre.memory_pools import MemPool, use_mem_pool
from torch_spyre.memory_summary import memory_summary
from torch_spyre.pluggable_allocator import (
    SpyrePluggableAllocator,
    change_current_allocator,
)

__all__ = [
    "MemPool",
    "SpyrePluggableAllocator",
    "attach_out_of_memory_observer",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "caching_allocator_disabled",
    "caching_allocator_enable",
    "change_current_allocator",
    "device_memory_used",
    "empty_cache",
    "get_allocator_backend",
    "get_per_process_memory_fraction",
    "host_empty_cache",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "list_gpu_processes",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
    "use_mem_pool",
]


def _flatten(nested: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for key, value in nested.items():
        if isinstance(value, dict):
            flat += _flatten(value, f"{prefix}{key}.")
        else:
            flat.append((prefix + key, value))
    return flat


def _index(device: Device) -> int:
    return _get_device_index(device, optional=True)


def memory_stats_as_nested_dict(device: Device = None) -> dict[str, Any]:
    """Allocator statistics of a card, nested; empty before first use."""
    index = _index(device)
    return _C.memory_stats(index) if _C.is_initialized() else {}


def memory_stats(device: Device = None) -> OrderedDict[str, Any]:
    """Allocator statistics of a card under CUDA's flat keys, sorted; empty before first use."""
    return OrderedDict(sorted(_flatten(memory_stats_as_nested_dict(device))))


def memory_allocated(device: Device = None) -> int:
    """Bytes that tensors occupy."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device: Device = None) -> int:
    """Peak of memory_allocated() since start or reset_peak_memory_stats()."""
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device: Device = None) -> int:
    """Bytes that the caching allocator holds."""
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device: Device = None) -> int:
    """Peak of memory_reserved() since start or reset_peak_memory_stats()."""
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


@deprecated(
    "torch.spyre.memory_cached has been renamed to torch.spyre.memory_reserved",
    category=FutureWarning,
)
def memory_cached(device: Device = None) -> int:
    """Deprecated name of memory_reserved()."""
    return memory_reserved(device)


@deprecated(
    "torch.spyre.max_memory_cached has been renamed to torch.spyre.max_memory_reserved",
    category=FutureWarning,
)
def max_memory_cached(device: Device = None) -> int:
    """Deprecated name of max_memory_reserved()."""
    return max_memory_reserved(device)


@deprecated(
    "torch.spyre.reset_max_memory_allocated now calls reset_peak_memory_stats, which "
    "resets all peaks",
    category=FutureWarning,
)
def reset_max_memory_allocated(device: Device = None) -> None:
    """Deprecated name of reset_peak_memory_stats()."""
    reset_peak_memory_stats(device)


@deprecated(
    "torch.spyre.reset_max_memory_cached now calls reset_peak_memory_stats, which "
    "resets all peaks",
    category=FutureWarning,
)
def reset_max_memory_cached(device: Device = None) -> None:
    """Deprecated name of reset_peak_memory_stats()."""
    reset_peak_memory_stats(device)


def reset_peak_memory_stats(device: Device = None) -> None:
    """Sets all peaks to the current values."""
    _C.reset_peak_memory_stats(_index(device))


def reset_accumulated_memory_stats(device: Device = None) -> None:
    """Sets all totals (allocated, freed) to zero."""
    _C.reset_accumulated_memory_stats(_index(device))


def mem_get_info(device: Device = None) -> tuple[int, int]:
    """(free, total) bytes of a card."""
    return _C.memory_info(_index(device))


def device_memory_used(device: Device = None) -> int:
    """Bytes in use on a card; only this process can use an emulated one."""
    free_bytes, total_bytes = mem_get_info(device)
    return total_bytes - free_bytes


def empty_cache() -> None:
    """Returns the cached memory that no tensor uses to the host."""
    if _C.is_initialized():
        _C.empty_cache((0, 0))


def set_per_process_memory_fraction(fraction: float, device: Device = None) -> None:
    """Limits the allocator to a share of the card's memory; more raises OutOfMemoryError.

    Args:
        fraction: 0 to 1.
    """
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0.0 <= fraction <= 1.0:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    _C.set_memory_fraction(fraction, _index(device))


def get_per_process_memory_fraction(device: Device = None) -> float:
    """The share set by set_per_process_memory_fraction(), 1.0 by default."""
    return _C.memory_fraction(_index(device))


def caching_allocator_alloc(
    size: int, device: Device = None, stream: torch.Stream | int | None = None
) -> int:
    """Allocates `size` bytes on a stream and gives their address.

    Free them with caching_allocator_delete().
    """
    index = _index(device)
    if stream is None:
        stream = _C.current_stream_id(index)
    elif isinstance(stream, torch.Stream):
        stream = stream.stream_id
    elif not isinstance(stream, int):
        raise TypeError(
            "Invalid type for stream argument, must be `torch.spyre.Stream` or `int` "
            "representing a pointer to a existing stream"
        )
    if size < 0:
        raise ValueError(f"size must not be negative, got {size}")
    return _C.raw_alloc(size, index, stream)


def caching_allocator_delete(mem_ptr: int) -> None:
    """Frees what caching_allocator_alloc() gave."""
    if not _C.has_pluggable_allocator() and _C.device_of_address(mem_ptr) < 0:
        raise ValueError(f"{mem_ptr:#x} is not an address of a spyre device")
    _C.raw_delete(mem_ptr)


def caching_allocator_enable(value: bool = True) -> None:
    """Switches reuse of memory on or off, for debugging.

    Off, every allocation is fresh and goes back to the host when freed, after the card has finished
    its work: a stale pointer faults instead of reading another tensor. Slow.
    """
    _C.initialize()
    _C.set_caching(bool(value))


@contextlib.contextmanager
def caching_allocator_disabled() -> Iterator[None]:
    """Switches reuse of memory off inside the with block."""
    caching_allocator_enable(False)
    try:
        yield
    finally:
        caching_allocator_enable(True)


def list_gpu_processes(device: Device = None) -> str:
    """Processes that use a card, with their memory: this one, as emulated cards are not shared."""
    index = _index(device)
    used = memory_reserved(index)
    lines = [f"Spyre:{index}"]
    if used == 0:
        lines.append("no processes are running")
    else:
        lines.append(f"process {os.getpid():>10d} uses {used / 2**20:>12.3f} MB memory")
    return "\n".join(lines)


def get_allocator_backend() -> str:
    """The name "native", or "pluggable" after change_current_allocator()."""
    return "pluggable" if _C.has_pluggable_allocator() else "native"


def attach_out_of_memory_observer(
    observer: Callable[[int, int, int, int], None],
) -> None:
    """Calls observer(device, bytes asked, device total, device free) when memory runs out."""
    _C.attach_out_of_memory_observer(observer)


_attach_out_of_memory_observer = attach_out_of_memory_observer


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """Statistics of pinned host memory, nested."""
    return _C.host_memory_stats()


def host_memory_stats() -> OrderedDict[str, Any]:
    """Statistics of pinned host memory under CUDA's flat keys, sorted."""
    return OrderedDict(sorted(_flatten(host_memory_stats_as_nested_dict())))


def reset_accumulated_host_memory_stats() -> None:
    """Sets the totals of pinned host memory to zero."""
    _C.reset_accumulated_host_memory_stats()


def reset_peak_host_memory_stats() -> None:
    """Sets the peaks of pinned host memory to the current values."""
    _C.pinned_reset_peak_stats()


def host_empty_cache() -> None:
    """Returns the cached pinned memory that nothing uses to the host."""
    _C.pinned_empty_cache()
