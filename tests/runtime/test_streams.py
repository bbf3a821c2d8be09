"""Streams: order, current stream, priorities, alien and destroyed ones."""

from __future__ import annotations

import threading

import pytest
import torch

spyre = torch.spyre
BIG = 1 << 22  # elements: an addition of this size is queued, not run inline


def test_classes_are_torchs() -> None:
    assert issubclass(spyre.Stream, torch.Stream)
    assert issubclass(spyre.Event, torch.Event)


def test_work_of_one_stream_runs_in_order() -> None:
    x = torch.zeros(BIG, device="spyre")
    for _ in range(20):
        x += 1
    assert x.min().item() == x.max().item() == 20


def test_wait_stream_orders_two_streams() -> None:
    first, second = spyre.Stream(), spyre.Stream()
    x = torch.zeros(BIG, device="spyre")
    first.wait_stream(spyre.current_stream())
    with spyre.stream(first):
        for _ in range(10):
            x += 1
    second.wait_stream(first)
    with spyre.stream(second):
        y = x * 2
    second.synchronize()
    assert y.min().item() == y.max().item() == 20


def test_query_and_synchronize_agree() -> None:
    stream = spyre.Stream()
    with spyre.stream(stream):
        x = torch.ones(BIG, device="spyre")
        for _ in range(20):
            x = x * 1.0
    stream.synchronize()
    assert stream.query()


def test_stream_context_sets_card_and_stream_and_restores_both() -> None:
    stream = spyre.Stream("spyre:1")
    before = spyre.current_stream(1)
    with spyre.stream(stream):
        assert spyre.current_device() == 1
        assert spyre.current_stream() == stream
        assert torch.accelerator.current_stream() == stream
    assert spyre.current_device() == 0
    assert spyre.current_stream(1) == before


def test_stream_context_of_none_changes_nothing() -> None:
    with spyre.stream(None):
        assert spyre.current_stream() == spyre.default_stream()


def test_generic_stream_context_and_set_stream_work() -> None:
    stream = torch.Stream("spyre")
    with stream:
        assert spyre.current_stream() == stream
    spyre.set_stream(stream)
    try:
        assert torch.accelerator.current_stream() == stream
    finally:
        spyre.set_stream(spyre.default_stream())


def test_the_current_stream_belongs_to_a_thread() -> None:
    seen: list[torch.Stream] = []
    with spyre.stream(spyre.Stream()):
        thread = threading.Thread(target=lambda: seen.append(spyre.current_stream()))
        thread.start()
        thread.join()
    assert seen == [spyre.default_stream()]


def test_equality_and_hash_are_by_card_and_id() -> None:
    stream = spyre.Stream()
    same = spyre.ExternalStream(stream.spyre_stream, stream.device)
    assert stream == same
    assert hash(stream) == hash(same)
    assert stream != spyre.Stream()
    assert spyre.default_stream(0) != spyre.default_stream(1)


def test_priorities_are_kept_and_clamped() -> None:
    least, greatest = spyre.Stream.priority_range()
    assert least == 0
    assert greatest < 0
    assert spyre.Stream(priority=greatest).priority == greatest
    assert spyre.Stream(priority=-100).priority == greatest
    assert spyre.Stream(priority=5).priority == 0
    assert spyre.default_stream().priority == 0


def test_a_handle_that_is_no_stream_is_refused() -> None:
    with pytest.raises(ValueError, match="no stream with the handle"):
        spyre.ExternalStream(123456789)
    with pytest.raises(ValueError, match="does not exist"):
        alien = torch.Stream(
            stream_id=123456789,
            device_index=0,
            device_type=spyre.default_stream().device_type,
        )
        alien.synchronize()


def test_a_stream_on_a_missing_card_is_refused() -> None:
    with pytest.raises(torch.AcceleratorError, match="invalid device ordinal"):
        spyre.Stream("spyre:9")


def test_a_destroyed_stream_is_refused() -> None:
    from torch_spyre import _C

    handle = _C.create_stream(0, 0)
    stream = spyre.ExternalStream(handle)
    with spyre.stream(stream):
        assert torch.ones(3, device="spyre").sum().item() == 3
    _C.destroy_stream(0, handle)
    with pytest.raises(ValueError, match="destroyed"):
        stream.synchronize()


def test_record_stream_keeps_memory_from_reuse() -> None:
    side = spyre.Stream()
    x = torch.ones(BIG, device="spyre")
    side.wait_stream(spyre.current_stream())
    with spyre.stream(side):
        for _ in range(20):
            y = x * 1.0
    x.record_stream(side)
    address = x.data_ptr()
    del x
    # While the side stream reads the block, new memory of the main stream must be other memory,
    # or the side stream must have finished.
    z = torch.zeros(BIG, device="spyre")
    assert z.data_ptr() != address or side.query()
    side.synchronize()
    assert y.min().item() == 1


def test_many_threads_launch_at_once() -> None:
    failures: list[str] = []

    def work(seed: int) -> None:
        with spyre.stream(spyre.Stream()):
            x = torch.full((1 << 16,), float(seed), device="spyre")
            for _ in range(50):
                x = x + 1
            if x.min().item() != seed + 50 or x.max().item() != seed + 50:
                failures.append(f"thread {seed}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
