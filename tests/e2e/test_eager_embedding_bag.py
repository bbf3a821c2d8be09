"""embedding_bag's four results have the sizes of other devices, which compiled training saves."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch.nn.functional as F

SPYRE = torch.device("spyre:0")
INDICES = torch.tensor([1, 4, 2, 5, 4, 3])
OFFSETS = torch.tensor([0, 2, 2, 5, 6])  # the second bag is empty, and so is the last
MODES = ("sum", "mean", "max")


@pytest.mark.parametrize("name", ["_embedding_bag", "_embedding_bag_forward_only"])
@pytest.mark.parametrize("mode", range(3))
def test_sizes_are_those_of_devices(name: str, mode: int) -> None:
    operator = getattr(torch.ops.aten, name)
    table = torch.rand(7, 3)
    for dtype, last, padding in itertools.product(
        (torch.int64, torch.int32), (False, True), (-1, 4)
    ):
        host = (table, INDICES.to(dtype), OFFSETS.to(dtype))
        rest = (False, mode, False, None, last, padding)
        expected = operator(*(t.to("meta") for t in host), *rest)
        result = operator(*(t.to(SPYRE) for t in host), *rest)
        for ours, theirs in zip(result, expected, strict=True):
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
            assert ours.device == SPYRE
        torch.testing.assert_close(result[0].cpu(), operator(*host, *rest)[0])
        assert result[1].tolist() == [0, 0, 2, 2, 2, 3]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_training_equals_the_cpus(mode: str, last: bool, compiled: bool) -> None:
    def loss(table: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor):
        bags = F.embedding_bag(
            indices, table, offsets, mode=mode, include_last_offset=last
        )
        return bags.square().sum()

    torch.manual_seed(0)
    theirs = torch.randn(7, 3, requires_grad=True)
    ours = theirs.detach().to(SPYRE).requires_grad_()
    loss(theirs, INDICES, OFFSETS).backward()
    run = torch.compile(loss, backend="spyre") if compiled else loss
    run(ours, INDICES.to(SPYRE), OFFSETS.to(SPYRE)).backward()
    assert ours.grad is not None
    torch.testing.assert_close(ours.grad.cpu(), theirs.grad)
