"""Statistics of device memory: CUDA's keys, balance, peaks, limits, raw allocations."""

from __future__ import annotations

import pytest
import torch

spyre = torch.spyre
MIB = 1 << 20

# The keys that torch.cuda.memory_stats documents.
COUNTERS = ("allocation", "segment", "active", "inactive_split")
SUMS = tuple(
    f"{name}_bytes"
    for name in ("allocated", "reserved", "active", "inactive_split", "requested")
)


def test_keys_are_those_of_cuda() -> None:
    torch.empty(1, device="spyre")
    stats = spyre.memory_stats()
    for metric in COUNTERS + SUMS:
        for pool in ("all", "small_pool", "large_pool"):
            for value in ("current", "peak", "allocated", "freed"):
                assert f"{metric}.{pool}.{value}" in stats
    for name in ("num_alloc_retries", "num_ooms", "num_device_alloc", "max_split_size"):
        assert name in stats
    assert list(stats) == sorted(stats)
    nested = spyre.memory_stats_as_nested_dict()
    assert nested["allocation"]["all"]["current"] == stats["allocation.all.current"]


def test_allocated_bytes_follow_tensors() -> None:
    before = spyre.memory_allocated()
    x = torch.empty(3 * MIB, dtype=torch.uint8, device="spyre")
    assert spyre.memory_allocated() - before == 3 * MIB
    assert spyre.memory_reserved() >= spyre.memory_allocated()
    assert spyre.memory_allocated() == torch.accelerator.memory_allocated()
    del x
    assert spyre.memory_allocated() == before


def test_statistics_are_per_card() -> None:
    before = spyre.memory_allocated(0)
    x = torch.empty(MIB, dtype=torch.uint8, device="spyre:1")
    assert spyre.memory_allocated(0) == before
    assert spyre.memory_allocated(x.device) >= MIB


def test_peak_can_be_reset() -> None:
    x = torch.empty(8 * MIB, dtype=torch.uint8, device="spyre")
    assert spyre.max_memory_allocated() >= 8 * MIB
    assert spyre.max_memory_reserved() >= 8 * MIB
    del x
    spyre.reset_peak_memory_stats()
    assert spyre.max_memory_allocated() == spyre.memory_allocated()


def test_accumulated_totals_can_be_reset() -> None:
    torch.empty(MIB, device="spyre")
    spyre.reset_accumulated_memory_stats()
    stats = spyre.memory_stats()
    assert stats["allocation.all.allocated"] == stats["allocation.all.freed"] == 0


def test_empty_cache_gives_unused_segments_back() -> None:
    x = torch.empty(64 * MIB, dtype=torch.uint8, device="spyre")
    reserved = spyre.memory_reserved()
    free_before = spyre.mem_get_info()[0]
    del x
    torch.spyre.empty_cache()
    assert spyre.memory_reserved() <= reserved - 64 * MIB
    assert spyre.mem_get_info()[0] >= free_before + 64 * MIB


def test_mem_get_info_agrees_with_accelerator_and_properties() -> None:
    free_bytes, total_bytes = spyre.mem_get_info()
    assert 0 < free_bytes <= total_bytes
    assert torch.accelerator.get_memory_info() == (free_bytes, total_bytes)
    assert total_bytes == spyre.get_device_properties().total_memory
    assert spyre.device_memory_used() == total_bytes - free_bytes


@pytest.mark.parametrize("abbreviated", [False, True])
def test_summary_is_a_table_of_equal_width(abbreviated: bool) -> None:
    torch.empty(1, device="spyre")
    text = spyre.memory_summary(abbreviated=abbreviated)
    lines = text.splitlines()
    assert {len(line) for line in lines} == {77}
    assert "device ID 0" in text
    assert ("from large pool" in text) != abbreviated


def test_freed_memory_is_used_again() -> None:
    x = torch.empty(16 * MIB, dtype=torch.uint8, device="spyre")
    address = x.data_ptr()
    del x
    y = torch.empty(16 * MIB, dtype=torch.uint8, device="spyre")
    assert y.data_ptr() == address


def test_addresses_are_sticks() -> None:
    for numel in (1, 3, 33, 1000):
        assert torch.empty(numel, device="spyre").data_ptr() % 128 == 0


def test_raw_allocation_on_a_stream() -> None:
    before = spyre.memory_allocated()
    address = spyre.caching_allocator_alloc(4096, stream=spyre.Stream())
    assert spyre.memory_allocated() - before == 4096
    spyre.caching_allocator_delete(address)
    assert spyre.memory_allocated() == before


def test_raw_allocation_refuses_nonsense() -> None:
    with pytest.raises(ValueError, match="negative"):
        spyre.caching_allocator_alloc(-1)
    with pytest.raises(TypeError, match="stream"):
        spyre.caching_allocator_alloc(1, stream="main")
    with pytest.raises(ValueError, match="not an address"):
        spyre.caching_allocator_delete(0x10)


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(RuntimeError, match="negative"):
        torch.empty(-1, device="spyre")


def test_statistics_balance_after_churn() -> None:
    torch.manual_seed(0)
    before = spyre.memory_stats()
    kept: list[torch.Tensor] = []
    for size in torch.randint(1, 1 << 20, (2000,)).tolist():
        kept.append(torch.empty(size, dtype=torch.uint8, device="spyre"))
        if len(kept) > 50:
            kept.pop(size % 50)
    kept.clear()
    after = spyre.memory_stats()
    for metric in ("allocation", "allocated_bytes", "active_bytes", "requested_bytes"):
        for pool in ("all", "small_pool", "large_pool"):
            name = f"{metric}.{pool}"
            assert after[f"{name}.current"] == before[f"{name}.current"]
            taken = after[f"{name}.allocated"] - before[f"{name}.allocated"]
            assert taken == after[f"{name}.freed"] - before[f"{name}.freed"]
