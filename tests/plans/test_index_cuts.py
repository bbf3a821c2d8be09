"""Divisions inside an index become axes, so that lanes load instead of gathering."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch._inductor.utils import run_and_get_code

from tests.support.compiled import fresh_dynamo  # noqa: F401

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def _group_norm_source(groups: int, points: int, batch_varies: bool = False) -> str:
    inputs = [torch.randn(3, 16, points), torch.randn(16), torch.randn(16)]

    def function(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return F.group_norm(x, groups, w, b)

    compiled = torch.compile(function, backend="spyre")
    card = [x.to("spyre") for x in inputs]
    if batch_varies:
        torch._dynamo.mark_dynamic(card[0], 0)
    result, (code,) = run_and_get_code(compiled, *card)
    torch.testing.assert_close(result.cpu(), function(*inputs))
    assert code.count("SPYRE_KERNEL(") == 1
    return code


@pytest.mark.parametrize("groups,points", [(4, 64), (2, 49), (1, 100)])
def test_group_norm_loads_its_weights_per_channel(groups: int, points: int) -> None:
    code = _group_norm_source(groups, points)
    assert "gather(" not in code
    assert f"r0 < {16 // groups}, r1 < {points}" in code


def test_group_norm_of_batches_of_any_size() -> None:
    code = _group_norm_source(4, 64, batch_varies=True)
    assert "gather(" not in code and "r0 < 4, r1 < 64" in code


def test_a_piece_shorter_than_the_lanes_is_no_axis() -> None:
    """Channels of 4 points: the row stays whole, the weights are gathered."""
    code = _group_norm_source(4, 4)
    assert "gather(" in code
    assert "reduce   r0 < 16\n" in code
