"""torch.spyre.nccl: collectives over the cards of one process."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.spyre import nccl

CARDS = ("spyre:0", "spyre:1")


def on_cards(*values: Any, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [
        torch.tensor(v, dtype=dtype, device=card)
        for v, card in zip(values, CARDS, strict=True)
    ]


@pytest.mark.parametrize(
    ("op", "expected"),
    [(0, [4, 6]), (1, [3, 8]), (2, [3, 4]), (3, [1, 2]), (4, [2, 3])],
)
def test_all_reduce(op: int, expected: list[float]) -> None:
    inputs = on_cards([1, 2], [3, 4])
    outputs = [torch.empty_like(t) for t in inputs]
    nccl.all_reduce(inputs, outputs, op=op)
    assert [t.tolist() for t in outputs] == [expected, expected]
    assert [t.tolist() for t in inputs] == [[1, 2], [3, 4]]
    nccl.all_reduce(inputs, op=op)
    assert [t.tolist() for t in inputs] == [expected, expected]


def test_reduce_and_broadcast() -> None:
    inputs = on_cards([1, 2], [3, 4])
    nccl.reduce(inputs, root=1)
    assert [t.tolist() for t in inputs] == [[1, 2], [4, 6]]
    nccl.broadcast(inputs, root=1)
    assert [t.tolist() for t in inputs] == [[4, 6], [4, 6]]


def test_gather_and_scatter() -> None:
    inputs = on_cards([1, 2], [3, 4])
    gathered = [torch.empty(4, device=card) for card in CARDS]
    nccl.all_gather(inputs, gathered)
    assert [t.tolist() for t in gathered] == [[1, 2, 3, 4]] * 2
    pieces = [torch.empty(2, device=card) for card in CARDS]
    nccl.reduce_scatter(gathered, pieces)
    assert [t.tolist() for t in pieces] == [[2, 4], [6, 8]]


def test_work_runs_on_the_streams_given() -> None:
    streams = [torch.spyre.Stream(card) for card in CARDS]
    inputs = on_cards([1.0] * (1 << 16), [2.0] * (1 << 16))
    for stream in streams:
        stream.wait_stream(torch.spyre.current_stream(stream.device))
    nccl.all_reduce(inputs, streams=streams)
    for stream in streams:
        stream.synchronize()
    assert all(t.min().item() == t.max().item() == 3 for t in inputs)
    assert torch.spyre.current_stream() == torch.spyre.default_stream()


def test_wrong_arguments() -> None:
    one = torch.ones(2, device="spyre")
    assert not nccl.is_available([one, one])
    assert not nccl.is_available([torch.ones(2, 2, device="spyre").t()])
    assert nccl.is_available(on_cards([1], [2]))
    with pytest.raises(TypeError, match="collection of tensors"):
        nccl.all_reduce(one)
    with pytest.raises(RuntimeError, match="different cards"):
        nccl.all_reduce([one, one])
    with pytest.raises(RuntimeError, match="elements"):
        nccl.all_reduce(on_cards([1], [1, 2]))
    with pytest.raises(RuntimeError, match="unknown reduction"):
        nccl.all_reduce(on_cards([1], [2]), op=9)
    with pytest.raises(NotImplementedError, match=r"torch\.distributed"):
        nccl.unique_id()
    assert len(nccl.version()) == 3
