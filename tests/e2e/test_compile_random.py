"""Random numbers of a compiled graph depend on the seed alone."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.support.compiled import fresh_dynamo  # noqa: F401

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def _draw(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        torch.rand_like(x),
        torch.randn_like(x),
        torch.randint_like(x, 0, 1000),
        F.dropout(x, 0.3),
        torch.bernoulli(x * 0.3),
    )


def _numbers(cores: int) -> list[torch.Tensor]:
    torch._dynamo.reset()
    torch.manual_seed(7)
    compiled = torch.compile(_draw, backend="spyre", options={"spyre.cores": cores})
    return [t.cpu() for t in compiled(torch.ones(4, 5000, device="spyre"))]


def test_same_numbers_whatever_the_division() -> None:
    one = _numbers(1)
    assert all(t.unique().numel() > 1 for t in one)
    assert abs(one[0].mean() - 0.5) < 0.02 and abs(one[1].std() - 1) < 0.03
    for cores in (3, 32):
        assert all(torch.equal(a, b) for a, b in zip(one, _numbers(cores)))
