"""Spyre tensors between processes: shared memory, lifetimes, order of exits."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

import pytest
import torch
import torch.multiprocessing as mp

CONTEXT = mp.get_context("spawn")
SECONDS = 120  # a spawned child imports torch on a busy machine


def run_child(target: Callable[..., None], *args: Any) -> tuple[mp.Process, Connection]:
    """Starts target(connection, *args) in a new process."""
    here, there = CONTEXT.Pipe()
    process = CONTEXT.Process(target=target, args=(there, *args))
    process.start()
    there.close()
    return process, here


def finish(process: mp.Process) -> None:
    process.join(SECONDS)
    assert process.exitcode == 0


def receive(connection: Connection) -> Any:
    assert connection.poll(SECONDS), "the child sent nothing"
    return connection.recv()


def send_views(connection: Connection) -> None:
    base = torch.arange(24.0, device="spyre:1").reshape(4, 6)
    connection.send([base, base[1:], base.t()[::2], base[2, 3]])
    connection.recv()


def test_value_offset_stride_and_card_survive() -> None:
    child, connection = run_child(send_views)
    base, rows, columns, one = receive(connection)
    expected = torch.arange(24.0).reshape(4, 6)
    for got, wanted in (
        (base, expected),
        (rows, expected[1:]),
        (columns, expected.t()[::2]),
        (one, expected[2, 3]),
    ):
        assert got.device == torch.device("spyre:1")
        assert torch.equal(got.cpu(), wanted)
        assert (got.stride(), got.storage_offset()) == (
            wanted.stride(),
            wanted.storage_offset(),
        )
    connection.send("done")
    finish(child)


def write_into(connection: Connection) -> None:
    tensor = connection.recv()
    tensor.add_(1)
    torch.spyre.synchronize()
    connection.send("written")


def test_memory_is_shared_both_ways() -> None:
    tensor = torch.zeros(1000, device="spyre")
    view = tensor[10:20]
    child, connection = run_child(write_into)
    connection.send(tensor)
    assert receive(connection) == "written"
    finish(child)
    assert torch.equal(tensor.cpu(), torch.ones(1000))
    assert torch.equal(view.cpu(), torch.ones(10))


def test_views_of_one_storage_arrive_on_one_storage() -> None:
    child, connection = run_child(send_views)
    base, rows, *_ = receive(connection)
    assert rows.data_ptr() == base[1:].data_ptr()
    base.fill_(7)
    assert torch.equal(rows.cpu(), torch.full((3, 6), 7.0))
    connection.send("done")
    finish(child)


def send_and_keep_until_told(connection: Connection) -> None:
    tensor = torch.full((1 << 20,), 3.0, device="spyre")
    connection.send(tensor)
    del tensor
    gc.collect()
    connection.recv()


def test_receiver_may_outlive_the_producer() -> None:
    child, connection = run_child(send_and_keep_until_told)
    tensor = receive(connection)
    connection.send("exit")
    finish(child)
    assert torch.equal((tensor * 2).cpu(), torch.full((1 << 20,), 6.0))


def use_queue(connection: Connection, queue: Any) -> None:
    queue.put(torch.arange(4.0, device="spyre"))
    queue.put(torch.nn.Parameter(torch.ones(3, device="spyre")))
    queue.put(torch.empty(0, 5, dtype=torch.int32, device="spyre"))
    connection.recv()


def test_queue_of_tensors_parameters_and_empty_tensors() -> None:
    queue = CONTEXT.Queue()
    child, connection = run_child(use_queue, queue)
    values = [queue.get(timeout=SECONDS) for _ in range(3)]
    connection.send("done")
    finish(child)
    assert values[0].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert isinstance(values[1], torch.nn.Parameter) and values[1].requires_grad
    assert (values[2].shape, values[2].dtype) == ((0, 5), torch.int32)
    assert values[2].device.type == "spyre"


def send_on(connection: Connection) -> None:
    tensor = connection.recv()
    connection.send(tensor[1:])
    connection.recv()


def test_received_tensor_may_be_sent_on() -> None:
    tensor = torch.arange(5.0, device="spyre")
    child, connection = run_child(send_on)
    connection.send(tensor)
    back = receive(connection)
    assert back.data_ptr() == tensor[1:].data_ptr()
    back.fill_(9)
    assert tensor.tolist() == [0.0, 9.0, 9.0, 9.0, 9.0]
    connection.send("done")
    finish(child)


def exit_without_being_received(connection: Connection) -> None:
    connection.send_bytes(bytes(ForkingPickler.dumps(torch.ones(4, device="spyre"))))


def test_producer_that_ended_before_the_receipt_is_an_error_not_a_hang() -> None:
    child, connection = run_child(exit_without_being_received)
    assert connection.poll(SECONDS)
    message = connection.recv_bytes()
    finish(child)
    with pytest.raises(
        RuntimeError, match=r"producer has ended.*Keep the producer alive"
    ):
        ForkingPickler.loads(message)


def test_sent_memory_is_held_until_received_and_collected_after() -> None:
    from torch_spyre import _C

    torch.spyre.ipc_collect()
    waiting = _C.collect_shared_memory()
    tensor = torch.ones(8, device="spyre")
    message = bytes(ForkingPickler.dumps(tensor))
    del tensor
    gc.collect()
    torch.spyre.ipc_collect()
    assert _C.collect_shared_memory() == waiting + 1
    assert ForkingPickler.loads(message).tolist() == [1.0] * 8
    torch.spyre.ipc_collect()
    assert _C.collect_shared_memory() == waiting


def test_statistics_count_shared_memory_for_its_sender() -> None:
    """As on CUDA: until the sender has dropped it and it was received; receivers count nothing."""
    torch.spyre.synchronize()
    torch.spyre.ipc_collect()
    before = torch.spyre.memory_stats()

    def change(name: str) -> int:
        return torch.spyre.memory_stats()[name] - before[name]

    tensor = torch.ones(1 << 20, device="spyre")
    message = bytes(ForkingPickler.dumps(tensor))
    address = tensor.data_ptr()
    assert (
        change("allocated_bytes.all.current")
        == change("active_bytes.all.current")
        == 4 << 20
    )
    assert change("allocation.all.current") == 1
    assert address in [s["address"] for s in torch.spyre.memory_snapshot()]
    again = ForkingPickler.loads(message)
    assert change("allocated_bytes.all.current") == 4 << 20
    del tensor, again
    gc.collect()
    torch.spyre.ipc_collect()
    assert (
        change("allocated_bytes.all.current") == change("allocation.all.current") == 0
    )


def test_shared_storage_leaves_no_descriptor_behind() -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    def share_and_drop() -> None:
        message = bytes(ForkingPickler.dumps(torch.ones(8, device="spyre")))
        ForkingPickler.loads(message)
        torch.spyre.ipc_collect()

    share_and_drop()
    before = descriptors()
    for _ in range(20):
        share_and_drop()
    gc.collect()
    assert descriptors() == before


def test_queued_work_on_shared_memory_finishes_after_the_tensor_is_dropped() -> None:
    tensor = torch.rand(600, 600, device="spyre")
    ForkingPickler.dumps(tensor)
    expected = tensor.cpu() @ tensor.cpu()
    product = tensor @ tensor
    for _ in range(3):
        product = product + 0
    del tensor
    torch.spyre.ipc_collect()
    assert torch.allclose(product.cpu(), expected, rtol=1e-4)


def test_received_storage_cannot_be_resized() -> None:
    tensor = torch.ones(4, device="spyre")
    message = bytes(ForkingPickler.dumps(tensor))
    del tensor  # or the receiver gets the sender's own storage
    torch.spyre.ipc_collect()
    received = ForkingPickler.loads(message)
    with pytest.raises(RuntimeError, match="not resizable"):
        received.resize_(100)


def test_non_leaf_is_refused_with_torchs_sentence() -> None:
    tensor = torch.ones(4, device="spyre", requires_grad=True) * 2
    with pytest.raises(
        RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"
    ):
        ForkingPickler.dumps(tensor)


def test_cpu_tensors_still_share_as_before() -> None:
    tensor = torch.arange(3.0)
    message = bytes(ForkingPickler.dumps(tensor))
    assert ForkingPickler.loads(message).tolist() == [0.0, 1.0, 2.0]
    assert tensor.is_shared()


def give_module(connection: Connection) -> None:
    module = connection.recv()
    with torch.no_grad():
        module.weight.fill_(2)
    torch.spyre.synchronize()
    connection.send("done")


def test_module_shares_its_parameters() -> None:
    module = torch.nn.Linear(3, 3).to("spyre")
    child, connection = run_child(give_module)
    connection.send(module)
    assert receive(connection) == "done"
    finish(child)
    assert torch.equal(module.weight.detach().cpu(), torch.full((3, 3), 2.0))
