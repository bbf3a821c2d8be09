"""Events: completion, timing, waiting, misuse."""

from __future__ import annotations

import pytest
import torch

spyre = torch.spyre
BIG = 1 << 22


def test_an_unrecorded_event_is_complete() -> None:
    event = spyre.Event()
    assert event.query()
    event.synchronize()
    spyre.current_stream().wait_event(event)


def test_synchronize_waits_for_the_recorded_work() -> None:
    x = torch.zeros(BIG, device="spyre")
    for _ in range(10):
        x += 1
    event = spyre.current_stream().record_event()
    assert isinstance(event, spyre.Event)
    event.synchronize()
    assert event.query()
    assert x[0].item() == 10


def test_elapsed_time_is_positive_and_grows_with_the_work() -> None:
    events = [spyre.Event(enable_timing=True) for _ in range(3)]
    x = torch.ones(BIG, device="spyre")
    events[0].record()
    x += 1
    events[1].record()
    for _ in range(40):
        x += 1
    events[2].record()
    events[2].synchronize()
    short = events[0].elapsed_time(events[1])
    long = events[0].elapsed_time(events[2])
    assert 0 < short < long


def test_base_and_derived_events_mix() -> None:
    base = torch.Event("spyre", enable_timing=True)
    derived = spyre.Event(enable_timing=True)
    derived.record()
    base.record()
    torch.Stream("spyre").wait_event(derived)
    spyre.Stream().wait_event(base)
    base.synchronize()
    assert derived.elapsed_time(base) >= 0


def test_a_wait_keeps_the_value_of_its_record() -> None:
    """Recording the event again later must not move an earlier wait: no deadlock, right value."""
    event, side = spyre.Event(), spyre.Stream()
    x = torch.zeros(BIG, device="spyre")
    x += 1
    event.record()
    side.wait_event(event)
    with spyre.stream(side):
        y = x + 0
    x.record_stream(side)
    side.synchronize()
    event.record()
    assert y.min().item() == 1


def test_timing_needs_both_events_with_timing() -> None:
    timed, plain = spyre.Event(enable_timing=True), spyre.Event()
    timed.record()
    plain.record()
    plain.synchronize()
    with pytest.raises(RuntimeError, match="timing"):
        timed.elapsed_time(plain)


def test_timing_needs_recorded_events() -> None:
    with pytest.raises(RuntimeError, match="must be recorded"):
        spyre.Event(enable_timing=True).elapsed_time(spyre.Event(enable_timing=True))


def test_recording_on_another_card_than_the_first_is_refused() -> None:
    event = spyre.Event()
    event.record(spyre.current_stream(0))
    with pytest.raises(RuntimeError, match="does not match"):
        event.record(spyre.current_stream(1))


def test_a_stream_of_another_card_may_wait() -> None:
    x = torch.zeros(BIG, device="spyre:0")
    x += 1
    event = spyre.current_stream(0).record_event()
    other = spyre.Stream("spyre:1")
    other.wait_event(event)
    with spyre.stream(other):
        y = x.to("spyre:1", non_blocking=True)
    other.synchronize()
    assert y.min().item() == 1


def test_an_alien_event_is_refused() -> None:
    event = spyre.Event(enable_timing=True)
    event.record()
    with pytest.raises(TypeError, match=r"expected a torch\.Event"):
        event.elapsed_time("later")
