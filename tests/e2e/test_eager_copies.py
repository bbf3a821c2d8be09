"""Copies between host, card and card."""

from __future__ import annotations

import pytest
import torch

SPYRE = torch.device("spyre:0")
OTHER = torch.device("spyre:1")
SIZES = [3, 300_000]  # inline and through the DMA engine


@pytest.mark.parametrize("numel", SIZES)
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool]
)
def test_round_trip_keeps_every_bit(numel: int, dtype: torch.dtype) -> None:
    cpu = torch.randn(numel).mul(3).to(dtype)
    assert torch.equal(cpu.to(SPYRE).cpu(), cpu)


@pytest.mark.parametrize("numel", SIZES)
def test_copy_converts_dtype_and_strides(numel: int) -> None:
    cpu = torch.randn(numel, 2)
    target = torch.empty(2, numel, dtype=torch.float16, device=SPYRE).t()
    target.copy_(cpu)
    assert torch.equal(target.cpu(), cpu.half())
    host = torch.empty(2, numel, dtype=torch.float64).t()
    host.copy_(target)
    assert torch.equal(host, cpu.half().double())


@pytest.mark.parametrize("numel", SIZES)
def test_copy_between_cards_follows_both_streams(numel: int) -> None:
    matrix = torch.rand(900, 900, device=SPYRE)
    source = torch.zeros(numel, device=SPYRE)
    matrix @ matrix  # keeps the first card busy
    source += 1
    target = source.to(OTHER)
    source += 1
    assert target.device == OTHER
    assert torch.equal(target.cpu(), torch.ones(numel))
    target.mul_(5)
    assert torch.equal(target.to(SPYRE).cpu(), torch.full((numel,), 5.0))


def test_non_blocking_to_pinned_memory_returns_before_the_work() -> None:
    matrix = torch.rand(1500, 1500, device=SPYRE)
    host = torch.zeros(1500, 1500).pin_memory()
    assert host.is_pinned()
    for _ in range(4):
        product = matrix @ matrix
    stream = torch.spyre.current_stream()
    host.copy_(product, non_blocking=True)
    pending = not stream.query()
    torch.spyre.synchronize()
    assert pending
    assert torch.equal(host, product.cpu())


def test_blocking_copy_waits_for_queued_work() -> None:
    cpu = torch.rand(1000, 1000)
    x = cpu.to(SPYRE)
    torch.testing.assert_close((x @ x).cpu(), cpu @ cpu)


def test_pageable_source_may_change_after_a_non_blocking_copy() -> None:
    matrix = torch.rand(1200, 1200, device=SPYRE)
    cpu = torch.ones(1 << 20)
    matrix @ matrix
    x = cpu.to(SPYRE, non_blocking=True)
    cpu.zero_()
    assert x.sum().item() == 1 << 20


def test_broadcast_copy_and_zero_tensor() -> None:
    x = torch.empty(3, 4, device=SPYRE)
    x.copy_(torch.arange(4.0))
    assert torch.equal(x.cpu(), torch.arange(4.0).expand(3, 4))
    x.copy_(torch._efficientzerotensor((3, 4), device=SPYRE))
    assert x.sum().item() == 0


def test_record_stream_accepts_another_stream() -> None:
    x = torch.ones(1 << 20, device=SPYRE)
    side = torch.spyre.Stream()
    side.wait_stream(torch.spyre.current_stream())
    with torch.spyre.stream(side):
        y = x * 2
    x.record_stream(side)
    del x
    torch.spyre.current_stream().wait_stream(side)
    assert y.sum().item() == 2 << 20
