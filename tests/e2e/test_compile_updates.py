"""In-place updates of what a graph reads elsewhere."""

from __future__ import annotations

import pytest
import torch

from tests.support.compiled import check, fresh_dynamo  # noqa: F401

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def test_an_update_waits_for_reads_at_other_places() -> None:
    """The second update reads rows that the first one has given another name."""

    def fn(x: torch.Tensor) -> torch.Tensor:
        x.index_put_((torch.arange(x.size(0), device=x.device),), x * 2.0)
        x.add_(x.flip(0))
        return x

    check(fn, torch.rand(4, 8))


def test_an_update_of_the_places_it_reads_stays_fused() -> None:
    def fn(p: torch.Tensor, m: torch.Tensor, g: torch.Tensor) -> None:
        m.mul_(0.9).add_(g)
        p.sub_(m * 0.1)
        p.mul_(0.99)

    check(fn, torch.rand(4, 8), torch.rand(4, 8), torch.rand(4, 8))
