"""Misuse of graph capture: CUDA's error numbers, and a device that is usable afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

spyre = torch.spyre

UNSUPPORTED, INVALIDATED, MERGE = 900, 901, 902
UNJOINED, ISOLATION, IMPLICIT, CAPTURED_EVENT, WRONG_THREAD = 904, 905, 906, 907, 908
ILLEGAL_STATE = 401


@pytest.fixture(autouse=True)
def usable_afterwards() -> Iterator[None]:
    yield
    assert not spyre.is_current_stream_capturing()
    spyre.synchronize()
    x = torch.ones(4, device="spyre")
    graph = spyre.SpyreGraph()
    with spyre.graph(graph):
        x += 1
    graph.replay()
    assert x.sum().item() == 8


def begin(mode: str = "global") -> spyre.SpyreGraph:
    graph = spyre.SpyreGraph()
    graph.capture_begin(capture_error_mode=mode)
    return graph


def code_of(call: Callable[[], Any]) -> int:
    with pytest.raises(torch.AcceleratorError) as raised:
        call()
    return raised.value.error_code


def test_an_unjoined_side_stream() -> None:
    x = torch.ones(4, device="spyre")
    side = spyre.Stream()
    with (
        pytest.raises(torch.AcceleratorError, match="unjoined work") as raised,
        spyre.graph(spyre.SpyreGraph()),
    ):
        side.wait_stream(spyre.current_stream())
        with spyre.stream(side):
            x += 1
    assert raised.value.error_code == UNJOINED
    assert not side.is_capturing()
    with spyre.stream(side):
        x += 1
    side.synchronize()
    assert x.sum().item() == 8  # what was captured never ran


def test_work_after_the_join_is_unjoined() -> None:
    x = torch.ones(4, device="spyre")
    side = spyre.Stream()
    with (
        pytest.raises(torch.AcceleratorError, match="unjoined work"),
        spyre.graph(spyre.SpyreGraph()),
    ):
        side.wait_stream(spyre.current_stream())
        with spyre.stream(side):
            x += 1
        spyre.current_stream().wait_stream(side)
        with spyre.stream(side):
            x += 1


def test_a_side_stream_without_work_needs_no_join() -> None:
    graph, side = spyre.SpyreGraph(), spyre.Stream()
    with spyre.graph(graph):
        side.wait_stream(spyre.current_stream())
    graph.replay()


CALLS: dict[str, tuple[int, Callable[[Any, Any, Any], Any]]] = {
    "synchronize": (UNSUPPORTED, lambda x, inside, outside: spyre.synchronize()),
    "accelerator": (UNSUPPORTED, lambda *_: torch.accelerator.synchronize()),
    "stream synchronize": (
        UNSUPPORTED,
        lambda *_: spyre.current_stream().synchronize(),
    ),
    "stream query": (UNSUPPORTED, lambda *_: spyre.current_stream().query()),
    "item": (UNSUPPORTED, lambda x, *_: x.sum().item()),
    "cpu": (UNSUPPORTED, lambda x, *_: x.cpu()),
    "tolist": (UNSUPPORTED, lambda x, *_: x.tolist()),
    "nonzero": (UNSUPPORTED, lambda x, *_: x.nonzero()),
    "bool": (UNSUPPORTED, lambda x, *_: bool(x.any())),
    "event query": (UNSUPPORTED, lambda x, inside, outside: outside.query()),
    "event of the capture": (CAPTURED_EVENT, lambda x, inside, outside: inside.query()),
    "wait for it": (CAPTURED_EVENT, lambda x, inside, outside: inside.synchronize()),
    "wait outside": (ISOLATION, lambda x, inside, outside: outside.wait()),
    "wait_event": (ISOLATION, lambda x, i, o: spyre.current_stream().wait_event(o)),
    "wait_stream": (
        ISOLATION,
        lambda *_: spyre.current_stream().wait_stream(spyre.default_stream()),
    ),
    "default stream waits": (
        IMPLICIT,
        lambda *_: spyre.default_stream().wait_stream(spyre.current_stream()),
    ),
    "begin twice": (ILLEGAL_STATE, lambda *_: begin()),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_forbidden_call_ends_the_capture(name: str) -> None:
    expected, call = CALLS[name]
    x = torch.ones(4, device="spyre")
    inside, outside = spyre.Event(), spyre.Event()
    outside.record()
    spyre.synchronize()
    with spyre.stream(spyre.Stream()):
        graph = begin()
        inside.record()
        assert code_of(lambda: call(x, inside, outside)) == expected
        assert code_of(lambda: x.add_(1)) == INVALIDATED
        with pytest.raises(torch.AcceleratorError, match="previous error") as raised:
            graph.capture_end()
        assert raised.value.error_code == INVALIDATED
        with pytest.raises(
            RuntimeError, match="without a preceding successful capture"
        ):
            graph.replay()
    assert x.sum().item() == 4


def test_the_context_manager_keeps_the_first_reason() -> None:
    x = torch.ones(4, device="spyre")
    with (
        pytest.raises(
            torch.AcceleratorError, match=r"previous error.*synchronize"
        ) as raised,
        spyre.graph(spyre.SpyreGraph()),
    ):
        x.add_(1).sum().item()
    assert isinstance(raised.value.__context__, torch.AcceleratorError)
    assert raised.value.__context__.error_code == UNSUPPORTED


def test_captures_of_two_streams_do_not_merge() -> None:
    one, two = spyre.Stream(), spyre.Stream()
    with spyre.stream(one):
        first = begin("relaxed")
        event = one.record_event()
    with spyre.stream(two):
        second = begin("relaxed")
        assert code_of(lambda: two.wait_event(event)) == MERGE
        assert code_of(second.capture_end) == INVALIDATED
    with spyre.stream(one):
        first.capture_end()


def test_a_nested_capture_is_refused() -> None:
    with (
        pytest.raises(torch.AcceleratorError, match="capturing"),
        spyre.graph(spyre.SpyreGraph()),
        spyre.graph(spyre.SpyreGraph()),
    ):
        pass


def test_a_capture_ends_where_it_began() -> None:
    one, two = spyre.Stream(), spyre.Stream()
    with spyre.stream(one):
        graph = begin()
        with (
            spyre.stream(two),
            pytest.raises(RuntimeError, match="same stream it began"),
        ):
            graph.capture_end()
        with pytest.raises(
            RuntimeError, match="without a preceding successful capture"
        ):
            graph.replay()
        with pytest.raises(RuntimeError, match="already owns a captured graph"):
            graph.capture_begin()
        graph.capture_end()
    graph.replay()


def in_thread(call: Callable[[], Any]) -> BaseException | None:
    caught: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return caught[0] if caught else None


@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
def test_modes(mode: str) -> None:
    stream, event = spyre.Stream(), spyre.Event()
    event.record()

    def end() -> None:
        with spyre.stream(stream):
            graph.capture_end()

    with spyre.stream(stream):
        graph = begin(mode)
        error = in_thread(event.query)
        assert (error is not None) == (mode == "global")
        error = in_thread(end)
        if mode == "relaxed":
            assert error is None and event.query()
            return
        assert isinstance(error, torch.AcceleratorError)
        assert error.error_code == WRONG_THREAD
        assert code_of(event.query) == UNSUPPORTED
        assert code_of(graph.capture_end) == INVALIDATED


def test_memory_of_a_reset_graph_can_be_used_again() -> None:
    x = torch.ones(1 << 18, device="spyre")
    graph = spyre.SpyreGraph()
    with spyre.graph(graph):
        y = x + 1
    graph.replay()
    graph.reset()
    assert y.sum().item() == 2 * (1 << 18)  # the tensor outlives the graph
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.pool()
    others = [torch.full_like(x, 5) for _ in range(4)]
    assert y.sum().item() == 2 * (1 << 18)
    with spyre.graph(graph):
        z = x + 2
    graph.replay()
    assert z.sum().item() == 3 * (1 << 18) and y.sum().item() == 2 * (1 << 18)
    assert all(other.min().item() == 5 for other in others)


def test_a_capture_may_begin_behind_queued_work() -> None:
    """Waits that were issued before the capture are not part of it."""
    x = torch.zeros(1 << 20, device="spyre")
    other, stream = spyre.Stream(), spyre.Stream()
    with spyre.stream(other):
        for _ in range(20):
            x += 1
    stream.wait_stream(other)
    with spyre.stream(stream):
        graph = begin()
        y = x * 2
        graph.capture_end()
        graph.replay()
    stream.synchronize()
    assert y.min().item() == y.max().item() == 40
