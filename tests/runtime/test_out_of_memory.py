"""Running out of memory: type, text, observers, limits, recovery."""

from __future__ import annotations

import pytest
import torch

spyre = torch.spyre
GIB = 1 << 30


def test_the_error_has_cudas_type_and_sizes() -> None:
    total = spyre.mem_get_info()[1]
    with pytest.raises(torch.OutOfMemoryError) as caught:
        torch.empty(total + GIB, dtype=torch.uint8, device="spyre")
    text = str(caught.value)
    assert "out of memory. Tried to allocate" in text
    assert "total capacity of" in text
    assert "is free" in text
    assert "reserved by PyTorch but unallocated" in text
    assert spyre.OutOfMemoryError is torch.OutOfMemoryError


def test_the_next_allocation_works() -> None:
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1 << 46, device="spyre")
    assert torch.ones(1000, device="spyre").sum().item() == 1000
    assert spyre.memory_stats()["num_ooms"] >= 1


def test_a_fraction_limits_a_card_until_it_is_raised() -> None:
    total = spyre.mem_get_info()[1]
    nbytes = 256 << 20
    try:
        spyre.empty_cache()
        spyre.set_per_process_memory_fraction(nbytes / 2 / total)
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(nbytes, dtype=torch.uint8, device="spyre")
    finally:
        spyre.set_per_process_memory_fraction(1.0)
    assert spyre.get_per_process_memory_fraction() == 1.0
    assert torch.empty(nbytes, dtype=torch.uint8, device="spyre").nbytes == nbytes


def test_a_bad_fraction_is_refused() -> None:
    with pytest.raises(TypeError, match="float"):
        spyre.set_per_process_memory_fraction(1)
    with pytest.raises(ValueError, match="0~1"):
        spyre.set_per_process_memory_fraction(1.5)


def test_cached_memory_is_given_up_before_failing() -> None:
    total = spyre.mem_get_info(1)[1]
    block = int(total * 0.7) // 4096 * 4096
    x = torch.empty(block, dtype=torch.uint8, device="spyre:1")
    del x
    # A larger block fits only when the cached one is returned first.
    y = torch.empty(block + (total // 8), dtype=torch.uint8, device="spyre:1")
    assert y.nbytes > block
    del y
    spyre.empty_cache()


def test_observers_see_the_sizes() -> None:
    seen: list[tuple[int, int, int, int]] = []
    spyre.attach_out_of_memory_observer(lambda *values: seen.append(values))
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1 << 46, dtype=torch.uint8, device="spyre:1")
    device, asked, total, free = seen[-1]
    assert (device, asked) == (1, 1 << 46)
    assert 0 < free <= total == spyre.mem_get_info(1)[1]
