"""Tensors of every layout on a card that is not the current one, and between cards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pytest
import torch

pytestmark = pytest.mark.filterwarnings("ignore")

FIRST, SECOND = torch.device("spyre:0"), torch.device("spyre:1")  # FIRST is the current


def quantized(values: torch.Tensor) -> torch.Tensor:
    return torch.quantize_per_tensor(values, 0.5, 0, torch.qint8)


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "strided": lambda x: x,
    "coo": torch.Tensor.to_sparse,
    "csr": torch.Tensor.to_sparse_csr,
    "csc": torch.Tensor.to_sparse_csc,
    "bsr": lambda x: x.to_sparse_bsr((2, 2)),
    "bsc": lambda x: x.to_sparse_bsc((2, 2)),
    "quantized": quantized,
    "nested": lambda x: torch.nested.nested_tensor([x[0], x[1, :2]], device=x.device),
    "jagged": lambda x: torch.nested.nested_tensor(
        [x[0], x[1, :2]], device=x.device, layout=torch.jagged
    ),
}


class Make(Protocol):
    def __call__(
        self, device: torch.device | str, scale: float = 0.5
    ) -> torch.Tensor: ...


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """What can be compared: the values of any layout on the host."""
    host = tensor.cpu()
    if host.is_nested:
        return torch.cat(host.unbind())
    return host.dequantize() if host.is_quantized else host.to_dense()


@pytest.fixture(params=LAYOUTS)
def make(request: pytest.FixtureRequest) -> Make:
    values = torch.arange(16.0).reshape(4, 4)
    return lambda device, scale=0.5: LAYOUTS[request.param]((values * scale).to(device))


@pytest.mark.parametrize("source", ["cpu", FIRST, SECOND], ids=str)
@pytest.mark.parametrize("target", ["cpu", FIRST, SECOND], ids=str)
def test_to(make: Make, source: torch.device, target: torch.device) -> None:
    x = make(source)
    y = x.to(target)
    assert y.device == torch.device(target) and y.layout == x.layout
    torch.testing.assert_close(dense(y), dense(make("cpu")))


@pytest.mark.parametrize("source", ["cpu", FIRST, SECOND], ids=str)
@pytest.mark.parametrize("target", ["cpu", FIRST, SECOND], ids=str)
def test_copy_into(make: Make, source: torch.device, target: torch.device) -> None:
    out = make(target, 1.0)
    assert out.copy_(make(source)) is out
    assert out.device == torch.device(target)
    torch.testing.assert_close(dense(out), dense(make("cpu")))


def test_device_without_index_is_the_current_card(make: Make) -> None:
    assert make(SECOND).to("spyre").device == FIRST
    with torch.spyre.device(1):
        assert make(FIRST).to("spyre").device == SECOND


def test_results_stay_on_their_card(make: Make) -> None:
    x = make(SECOND)
    assert x.device == x.clone().device == torch.empty_like(x).device == SECOND
    torch.testing.assert_close(dense(x.clone()), dense(make("cpu")))


def test_named_card_wins_over_the_inputs(make: Make) -> None:
    assert torch.empty_like(make(FIRST), device=SECOND).device == SECOND
    assert make(FIRST).to(make(SECOND)).device == SECOND


def test_sparse_factories_on_another_card() -> None:
    at = torch.tensor([[0, 1], [1, 0]])
    values = torch.ones(2)
    made = [
        torch.sparse_coo_tensor(at, values, (2, 2), device=SECOND),
        torch.sparse_coo_tensor(at.to(SECOND), values.to(SECOND), (2, 2)),
        torch.sparse_coo_tensor((2, 2), device=SECOND),
        torch.zeros((2, 2), layout=torch.sparse_csr, device=SECOND),
        torch.sparse_csr_tensor(
            torch.tensor([0, 1, 2]), torch.tensor([0, 1]), values, (2, 2), device=SECOND
        ),
    ]
    assert [x.device for x in made] == [SECOND] * len(made)


def test_numbers_of_the_named_cards_generator() -> None:
    """rand_like with another card named draws from that card's generator."""
    torch.spyre.manual_seed_all(5)
    expected = torch.rand(4, device=SECOND).cpu()
    torch.spyre.manual_seed_all(5)
    torch.rand(3, device=FIRST)
    drawn = torch.rand_like(torch.ones(4, device=FIRST), device=SECOND)
    torch.testing.assert_close(drawn.cpu(), expected)
