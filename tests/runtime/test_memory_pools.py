"""Private pools: separation, snapshots, release."""

from __future__ import annotations

import ctypes
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

spyre = torch.spyre
NBYTES = 4 << 20
SOURCE = """
#include <stdlib.h>
static int live;
int live_allocations(void) { return live; }
void* user_alloc(size_t n, int device, void* stream) { ++live; return aligned_alloc(128, n); }
void user_free(void* p, size_t n, int device, void* stream) { --live; free(p); }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("allocator") / "allocator.so"
    source = Path(path).with_suffix(".c")
    source.write_text(SOURCE)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, source], check=True)
    return str(path)


@pytest.fixture
def user_allocator(library: str) -> ctypes.CDLL:
    return ctypes.CDLL(library)


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


def test_no_split_gives_every_allocation_its_own_segment() -> None:
    pool = spyre.MemPool(no_split=True)
    with spyre.use_mem_pool(pool):
        kept = [torch.empty(1000, device="spyre") for _ in range(3)]
    assert len(pool.snapshot()) == 3
    assert all(len(segment["blocks"]) == 1 for segment in pool.snapshot())
    address = kept.pop().data_ptr()
    with spyre.use_mem_pool(pool):
        assert torch.empty(900, device="spyre").data_ptr() == address


def test_use_on_oom_lends_free_memory_of_the_pool(limited: int) -> None:
    """`limited`: bytes that may be reserved; the pool holds more than half of them."""
    nbytes = limited // 8 * 5
    for use_on_oom in (False, True):
        pool = spyre.MemPool(use_on_oom=use_on_oom)
        with spyre.use_mem_pool(pool):
            address = torch.empty(nbytes, dtype=torch.uint8, device="spyre").data_ptr()
        if use_on_oom:
            lent = torch.empty(nbytes, dtype=torch.uint8, device="spyre")
            assert lent.data_ptr() == address
            del lent
        else:
            with pytest.raises(torch.OutOfMemoryError):
                torch.empty(nbytes, dtype=torch.uint8, device="spyre")
        del pool
        spyre.empty_cache()


@pytest.fixture
def limited() -> Iterator[int]:
    spyre.synchronize()
    spyre.empty_cache()
    total = spyre.get_device_properties().total_memory
    limit = spyre.memory_reserved() + (64 << 20)
    spyre.set_per_process_memory_fraction(limit / total)
    yield 64 << 20
    spyre.set_per_process_memory_fraction(1.0)


def test_a_pool_of_a_users_allocator(user_allocator: ctypes.CDLL, library: str) -> None:
    """The functions serve the pool's allocations only; statistics and snapshot know them."""
    allocator = spyre.SpyrePluggableAllocator(library, "user_alloc", "user_free")
    pool = spyre.MemPool(allocator.allocator())
    assert pool.allocator == allocator.allocator()
    before = spyre.memory_allocated()
    with spyre.use_mem_pool(pool):
        x = torch.ones(NBYTES // 4, device="spyre")
    assert user_allocator.live_allocations() == 1
    y = torch.ones(NBYTES // 4, device="spyre")
    assert user_allocator.live_allocations() == 1
    assert torch.equal(x + y, torch.full_like(x, 2))
    assert [s["address"] for s in pool.snapshot()] == [x.data_ptr()]
    assert spyre.memory_allocated() >= before + 2 * NBYTES
    del x, y
    spyre.synchronize()
    assert user_allocator.live_allocations() == 0
    assert pool.snapshot() == [] and spyre.memory_allocated() == before


def test_a_wrong_allocator_is_refused() -> None:
    with pytest.raises(TypeError, match="SpyrePluggableAllocator"):
        spyre.MemPool(allocator="native")


def test_without_caching_memory_goes_back_at_the_free() -> None:
    spyre.empty_cache()
    before = spyre.memory_reserved()
    with spyre.caching_allocator_disabled():
        x = torch.ones(1000, device="spyre")
        assert spyre.memory_reserved() > before
        del x
        assert spyre.memory_reserved() == before
    assert torch.ones(2, device="spyre").tolist() == [1, 1]
