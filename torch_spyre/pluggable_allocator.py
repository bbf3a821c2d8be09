"""Allocators that the user brings in a shared library."""

from __future__ import annotations

import ctypes

from torch_spyre import _C


class SpyrePluggableAllocator:
    """Allocation functions from a shared library.

    Args:
        path_to_lib_file: the library.
        alloc_fn_name: ``void* alloc(size_t nbytes, int device, void* stream)``; null when there is
            no memory.
        free_fn_name: ``void free(void* address, size_t nbytes, int device, void* stream)``.

    Raises:
        OSError: the library cannot be loaded.
        AttributeError: it lacks a function.
    """

    def __init__(
        self, path_to_lib_file: str, alloc_fn_name: str, free_fn_name: str
    ) -> None:
        self._library = ctypes.CDLL(path_to_lib_file)
        self._alloc = getattr(self._library, alloc_fn_name)
        self._free = getattr(self._library, free_fn_name)

    def allocator(self) -> tuple[int, int]:
        """Addresses of the two functions."""
        alloc = ctypes.cast(self._alloc, ctypes.c_void_p).value
        free = ctypes.cast(self._free, ctypes.c_void_p).value
        if alloc is None or free is None:
            raise RuntimeError("a function of the pluggable allocator is null")
        return alloc, free


_in_use: list[SpyrePluggableAllocator] = []  # keeps the library loaded


def change_current_allocator(allocator: SpyrePluggableAllocator) -> None:
    """Serves all memory of the cards by `allocator`; only before the device's first use."""
    _C.set_pluggable_allocator(*allocator.allocator())
    _in_use.append(allocator)
