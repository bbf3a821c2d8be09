"""Small things that code written for CUDA relies on."""

from __future__ import annotations

import ctypes

import pytest
import torch

spyre = torch.spyre


def test_contexts_may_be_entered_inside_themselves() -> None:
    stream = spyre.Stream()
    context = spyre.stream(stream)
    with context, context, spyre.stream(None):
        assert spyre.current_stream() == stream
    assert spyre.current_stream() == spyre.default_stream()
    card = spyre.device(1)
    with card:
        with card, spyre.device(0):
            assert spyre.current_device() == 0
        assert spyre.current_device() == 1
    assert spyre.current_device() == 0
    with pytest.raises(KeyError), card, card:
        raise KeyError
    assert spyre.current_device() == 0


def test_one_stream_context_on_another_card() -> None:
    other = spyre.stream(spyre.Stream(1))
    with other:
        with spyre.device(0), other:
            assert spyre.current_device() == 1
        assert spyre.current_device() == 1
        assert spyre.current_stream() == other.stream
    assert spyre.current_device() == 0
    assert spyre.current_stream(1) == spyre.default_stream(1)


def test_sleep_is_work_of_the_current_stream() -> None:
    stream = spyre.Stream()
    start, end = spyre.Event(enable_timing=True), spyre.Event(enable_timing=True)
    with spyre.stream(stream):
        start.record()
        spyre._sleep(20_000_000)
        end.record()
        assert not end.query()
        assert spyre.default_stream().query()
    stream.synchronize()
    assert start.elapsed_time(end) >= 20


def test_check_error() -> None:
    spyre.check_error(0)
    with pytest.raises(
        spyre.SpyreError, match=r"invalid device ordinal \(101\)"
    ) as raised:
        spyre.check_error(101)
    assert raised.value.error_code == 101
    with pytest.raises(spyre.SpyreError, match=r"\(12345\)"):
        spyre.check_error(12345)


def test_handles_go_to_ctypes() -> None:
    stream = spyre.Stream()
    take = ctypes.pythonapi.PyLong_FromVoidPtr
    take.restype, take.argtypes = ctypes.py_object, [ctypes.c_void_p]
    assert take(stream) == stream.spyre_stream
    event = stream.record_event()
    assert take(event) == event.event_id


def test_entries_of_the_history_carry_the_users_text() -> None:
    spyre.memory._record_memory_history(clear_history=True)
    try:
        for text in ("forward", "backward"):
            spyre.memory._set_memory_metadata(text)
            assert spyre.memory._get_memory_metadata() == text
            x = torch.empty(1 << 16, device="spyre")
            del x
    finally:
        spyre.memory._set_memory_metadata("")
        trace = spyre.memory._snapshot()["device_traces"][0]
        spyre.memory._record_memory_history(enabled=None)
    texts = [e["user_metadata"] for e in trace if e["action"] == "alloc"]
    assert texts[:2] == ["forward", "backward"]
