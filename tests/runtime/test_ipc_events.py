"""Events between processes."""

from __future__ import annotations

import time
from multiprocessing.connection import Connection

import pytest
import torch
import torch.multiprocessing as mp

CONTEXT = mp.get_context("spawn")
SECONDS = 120
SIZE = 1500  # a few products of this size keep a card busy for a while


def fill_late(connection: Connection) -> None:
    target, event = connection.recv()
    busy = torch.rand(SIZE, SIZE, device="spyre")
    for _ in range(20):
        busy = (busy @ busy).clamp_(0, 1)
    target.add_(busy[0, 0] * 0 + 7)
    event.record()
    connection.send("recorded")
    connection.recv()
    torch.spyre.synchronize()


def test_stream_waits_for_work_of_another_process() -> None:
    here, there = CONTEXT.Pipe()
    child = CONTEXT.Process(target=fill_late, args=(there,))
    child.start()
    target = torch.zeros(4, device="spyre")
    event = torch.spyre.Event(interprocess=True)
    here.send((target, event))
    assert here.poll(SECONDS) and here.recv() == "recorded"
    started = time.perf_counter()
    event.wait()  # the stream, not the host
    doubled = target * 2
    queued_in = time.perf_counter() - started
    finished_at_once = event.query()
    assert doubled.tolist() == [14.0] * 4
    assert event.query()
    assert finished_at_once or queued_in < 5
    event.synchronize()
    here.send("done")
    child.join(SECONDS)
    assert child.exitcode == 0


def record_and_die(connection: Connection) -> None:
    event = connection.recv()
    busy = torch.rand(SIZE, SIZE, device="spyre")
    for _ in range(200):
        busy = busy @ busy
    event.record()
    connection.send("recorded")
    import os

    os._exit(0)


def test_recorder_that_died_is_an_error_not_a_hang() -> None:
    here, there = CONTEXT.Pipe()
    child = CONTEXT.Process(target=record_and_die, args=(there,))
    child.start()
    event = torch.spyre.Event(interprocess=True)
    here.send(event)
    assert here.poll(SECONDS) and here.recv() == "recorded"
    with pytest.raises(RuntimeError, match="ended before its work did"):
        event.synchronize()  # the child is not reaped yet
    child.join(SECONDS)


def test_handle_by_hand_in_one_process() -> None:
    event = torch.spyre.Event(interprocess=True)
    other = torch.spyre.Event.from_ipc_handle("spyre:0", event.ipc_handle())
    assert other.query()  # never recorded: complete, as on CUDA
    x = torch.rand(800, 800, device="spyre")
    product = x @ x
    event.record()
    side = torch.spyre.Stream()
    other.wait(side)
    with torch.spyre.stream(side):
        total = product.sum()
    side.synchronize()
    assert other.query()
    torch.testing.assert_close(total.cpu(), (x.cpu() @ x.cpu()).sum())


def test_handle_needs_an_interprocess_event_that_is_alive() -> None:
    with pytest.raises(RuntimeError, match="interprocess=True"):
        torch.spyre.Event().ipc_handle()
    event = torch.spyre.Event(interprocess=True)
    handle = event.ipc_handle()
    del event
    with pytest.raises(RuntimeError, match="spyre event that process"):
        torch.spyre.Event.from_ipc_handle(0, handle)
