"""Private pools: separation, snapshots, release."""

from __future__ import annotations

import threading

import pytest
import torch

spyre = torch.spyre
NBYTES = 4 << 20


def test_allocations_go_to_the_pool_of_the_thread() -> None:
    pool = spyre.MemPool()
    with spyre.use_mem_pool(pool):
        x = torch.empty(NBYTES, dtype=torch.uint8, device="spyre")
        assert pool.use_count() == 2
    y = torch.empty(NBYTES, dtype=torch.uint8, device="spyre")
    ranges = [(s["address"], s["address"] + s["total_size"]) for s in pool.snapshot()]
    assert any(low <= x.data_ptr() < high for low, high in ranges)
    assert not any(low <= y.data_ptr() < high for low, high in ranges)
    assert pool.use_count() == 1


def test_another_thread_does_not_use_the_pool() -> None:
    pool = spyre.MemPool()
    kept: list[torch.Tensor] = []

    def allocate() -> None:
        kept.append(torch.empty(NBYTES, dtype=torch.uint8, device="spyre"))

    with spyre.use_mem_pool(pool):
        thread = threading.Thread(target=allocate)
        thread.start()
        thread.join()
    assert pool.snapshot() == []


def test_pool_memory_is_kept_for_the_pool() -> None:
    pool = spyre.MemPool()
    with spyre.use_mem_pool(pool):
        address = torch.empty(NBYTES, dtype=torch.uint8, device="spyre").data_ptr()
    other = torch.empty(NBYTES, dtype=torch.uint8, device="spyre")
    assert other.data_ptr() != address
    with spyre.use_mem_pool(pool):
        again = torch.empty(NBYTES, dtype=torch.uint8, device="spyre")
    assert again.data_ptr() == address


def test_memory_returns_when_the_pool_is_gone() -> None:
    spyre.empty_cache()
    before = spyre.memory_reserved()
    pool = spyre.MemPool()
    with spyre.use_mem_pool(pool):
        x = torch.empty(NBYTES, dtype=torch.uint8, device="spyre")
    assert spyre.memory_reserved() > before
    del x, pool
    spyre.empty_cache()
    assert spyre.memory_reserved() == before


def test_unsupported_options_are_named() -> None:
    with pytest.raises(ValueError, match="no_split"):
        spyre.MemPool(no_split=True)
