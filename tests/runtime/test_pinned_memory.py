"""Pinned host memory and copies that overlap with the host."""

from __future__ import annotations

import torch

spyre = torch.spyre
NUMEL = 1 << 20


def test_pin_memory_is_recognised() -> None:
    x = torch.rand(NUMEL).pin_memory()
    assert x.is_pinned()
    assert not torch.rand(2).is_pinned()
    assert torch.empty(5, pin_memory=True).is_pinned()


def test_non_blocking_copies_arrive_both_ways() -> None:
    source = torch.rand(NUMEL).pin_memory()
    target = torch.empty(NUMEL, pin_memory=True)
    y = source.to("spyre", non_blocking=True)
    target.copy_(y, non_blocking=True)
    spyre.synchronize()
    assert torch.equal(target, source)


def test_memory_of_a_queued_copy_is_not_reused_too_early() -> None:
    """The pinned source dies while its copy may still be queued behind other work."""
    results = []
    busy = torch.ones(NUMEL * 4, device="spyre")
    for value in range(10):
        for _ in range(5):
            busy = busy * 1.0
        source = torch.full((NUMEL,), float(value)).pin_memory()
        results.append(source.to("spyre", non_blocking=True))
        del source
    spyre.synchronize()
    for value, result in enumerate(results):
        assert result.min().item() == result.max().item() == value


def test_statistics_count_requests_and_bytes() -> None:
    spyre.reset_accumulated_host_memory_stats()
    before = spyre.host_memory_stats()
    x = torch.empty(NUMEL, dtype=torch.uint8, pin_memory=True)
    after = spyre.host_memory_stats()
    current = "active_requests.current"
    assert after[current] == before[current] + 1
    assert after["active_bytes.current"] - before["active_bytes.current"] >= NUMEL
    assert after["active_requests.allocated"] >= 1
    del x
    assert spyre.host_memory_stats()[current] == before[current]


def test_the_cache_can_be_emptied() -> None:
    x = torch.empty(NUMEL, pin_memory=True)
    del x
    torch.accelerator.empty_host_cache()
    assert (
        spyre.host_memory_stats()["allocated_bytes.current"]
        == (spyre.host_memory_stats()["active_bytes.current"])
    )
