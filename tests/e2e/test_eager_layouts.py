"""Sparse and quantized tensors on the card."""

from __future__ import annotations

import pytest
import torch

SPYRE = torch.device("spyre:0")

pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # torch: sparse CSR and quantization are in beta


def dense_example() -> torch.Tensor:
    dense = torch.eye(4)
    dense[1, 2] = 3
    return dense


@pytest.mark.parametrize(
    "layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc]
)
def test_sparse_tensors_move_and_multiply(layout: torch.layout) -> None:
    dense = dense_example()
    factor = torch.ones(4, 2)
    on_card = dense.to(SPYRE).to_sparse(layout=layout)
    assert on_card.device == SPYRE
    assert on_card.layout is layout
    assert torch.equal(on_card.to_dense().cpu(), dense)
    assert torch.equal(on_card.cpu().to_dense(), dense)
    moved = dense.to_sparse(layout=layout).to(SPYRE)
    assert torch.equal((moved @ factor.to(SPYRE)).cpu(), dense @ factor)


def test_sparse_arithmetic_and_in_place() -> None:
    dense = dense_example()
    x = dense.to(SPYRE).to_sparse()
    assert torch.equal((x + x).to_dense().cpu(), 2 * dense)
    x.mul_(3)
    assert torch.equal(x.to_dense().cpu(), 3 * dense)
    x.copy_(dense.to_sparse())
    assert torch.equal(x.to_dense().cpu(), dense)


def test_sparse_gradients_train_an_embedding() -> None:
    torch.manual_seed(0)
    bag = torch.nn.Embedding(10, 3, sparse=True).to(SPYRE)
    before = bag.weight.detach().cpu()
    bag(torch.tensor([1, 4], device=SPYRE)).sum().backward()
    assert bag.weight.grad is not None
    assert bag.weight.grad.layout is torch.sparse_coo
    torch.optim.SGD(bag.parameters(), lr=0.5).step()
    change = bag.weight.detach().cpu() - before
    expected = torch.zeros(10, 3)
    expected[[1, 4]] = -0.5
    torch.testing.assert_close(change, expected)


def test_quantized_tensors_round_trip() -> None:
    values = torch.randn(4, 4)
    expected = torch.quantize_per_tensor(values, 0.1, 3, torch.qint8)
    result = torch.quantize_per_tensor(values.to(SPYRE), 0.1, 3, torch.qint8)
    assert result.device == SPYRE
    assert (result.q_scale(), result.q_zero_point()) == (0.1, 3)
    assert torch.equal(result.int_repr().cpu(), expected.int_repr())
    assert torch.equal(result.dequantize().cpu(), expected.dequantize())
    assert torch.equal(expected.to(SPYRE).dequantize().cpu(), expected.dequantize())
    assert torch.equal(result.cpu().dequantize(), expected.dequantize())


def test_mode_takes_out() -> None:
    x = torch.tensor([[1, 2, 2], [3, 3, 1]])
    values = torch.empty(0, dtype=torch.int64, device=SPYRE)
    indices = torch.empty(0, dtype=torch.int64, device=SPYRE)
    torch.mode(x.to(SPYRE), out=(values, indices))
    assert torch.equal(values.cpu(), x.mode().values)


def test_quantized_operators_of_other_namespaces() -> None:
    values = torch.randn(4, 4)

    def add(x: torch.Tensor) -> torch.Tensor:
        q = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)
        return torch.ops.quantized.add(q, q, 0.2, 0).dequantize()

    assert torch.equal(add(values.to(SPYRE)).cpu(), add(values))


def test_strided_nested_tensors() -> None:
    parts = [torch.randn(3, 4), torch.randn(5, 4)]
    weight = torch.randn(2, 4)

    def run(device: torch.device) -> list[torch.Tensor]:
        leaves = [p.to(device).requires_grad_() for p in parts]
        nested = torch.nested.as_nested_tensor(leaves, layout=torch.strided)
        result = torch.nn.functional.linear(nested * 2, weight.to(device)).softmax(-1)
        padded = result.to_padded_tensor(0.0)
        padded.square().sum().backward()
        return [padded, *result.unbind(), *(leaf.grad for leaf in leaves)]

    for ours, theirs in zip(run(SPYRE), run(torch.device("cpu")), strict=True):
        assert ours.device == SPYRE
        torch.testing.assert_close(ours.cpu(), theirs)
    moved = torch.nested.nested_tensor(parts, layout=torch.strided).to(SPYRE)
    assert torch.equal(moved[1].cpu(), parts[1])
    assert torch.equal(moved.cpu()[0], parts[0])


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_sparse_products_with_every_reduction_have_gradients(reduce: str) -> None:
    dense, factor = dense_example(), torch.randn(4, 2)

    def run(device: torch.device) -> list[torch.Tensor]:
        x = dense.to(device).to_sparse_csr().requires_grad_()
        y = factor.to(device).requires_grad_()
        torch.sparse.mm(x, y, reduce).sum().backward()
        return [x.grad.to_dense(), y.grad]

    for ours, theirs in zip(run(SPYRE), run(torch.device("cpu")), strict=True):
        torch.testing.assert_close(ours.cpu(), theirs)
