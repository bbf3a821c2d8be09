"""Results have the CPU's strides: channels-last stays, whichever path an operator takes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from tests.conformance.operator_cases import busy_matrix

Call = Callable[[torch.Tensor], torch.Tensor]
CALLS: dict[str, Call] = {
    "add": lambda x: x + x,
    "add number": lambda x: x + 1,
    "mul": lambda x: x * x,
    "greater": lambda x: x > x,
    "where": lambda x: torch.where(x > 0, x, x),
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "exp": torch.exp,
    "neg": torch.neg,
    "pow": lambda x: x.pow(2),
    "gelu": F.gelu,
    "silu": F.silu,
    "hardtanh": F.hardtanh,
    "softmax": lambda x: x.softmax(1),
    "clone": torch.clone,
    "cat": lambda x: torch.cat([x, x], 1),
    "to": lambda x: x.to(torch.bfloat16),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 2),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "group_norm": lambda x: F.group_norm(x, 1),
    "pad": lambda x: F.pad(x, (1, 1)),
    "sum": lambda x: x.sum((2, 3)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("side", [4, 48])  # at once, and queued
def test_channels_last(name: str, side: int) -> None:
    call = CALLS[name]
    x = torch.randn(2, 3, side, side).to(memory_format=torch.channels_last)
    given = x.to("spyre")
    assert given.stride() == x.stride()
    expected = call(x)
    for busy in (False, True):
        if busy:
            torch.mm(busy_matrix(), busy_matrix())
        torch.testing.assert_close(call(given).cpu(), expected, check_stride=True)
        torch.spyre.synchronize()


@pytest.mark.parametrize("name", ["relu", "exp", "add", "mul", "pow", "greater"])
def test_permuted(name: str) -> None:
    x = torch.randn(3, 4, 5).permute(2, 0, 1)
    torch.testing.assert_close(
        CALLS[name](x.to("spyre")).cpu(), CALLS[name](x), check_stride=True
    )
