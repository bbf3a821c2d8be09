"""Long float32 reductions are no further from float64 than CPU eager's worst error, doubled."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.support import interpreted_backend as interpreted
from tests.support.rendered_backend import RenderedWrapper

CASES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "columns": (lambda a: a.sum(0), (2048, 1024)),
    "narrow_columns": (lambda a: a.sum(0), (1 << 16, 24)),
    "rows": (lambda a: a.sum(1), (24, 1 << 16)),
    "middle": (lambda a: a.sum(1), (8, 4096, 40)),
    "outer_and_inner": (lambda a: a.sum((0, 2)), (2048, 4, 60)),
    "mean_of_rows": (lambda a: a.mean(1), (40, 20_000)),
    "mean_of_computed_columns": (lambda a: (a * a).mean(0), (20_000, 40)),
    "exponentials_of_rows": (lambda a: a.exp().sum(1), (40, 20_000)),
    "exponentials_of_columns": (lambda a: a.exp().sum(0), (20_000, 40)),
}


def _worst_error(result: torch.Tensor, exact: torch.Tensor) -> float:
    return ((result.double() - exact) / exact).abs().max().item()


def _compiled(function: Any, value: torch.Tensor, dynamic: bool) -> torch.Tensor:
    torch._dynamo.reset()
    with interpreted.interpreted_backend(RenderedWrapper):
        return torch.compile(function, dynamic=dynamic)(value)


@pytest.mark.parametrize(
    "dynamic",
    [
        pytest.param(False, id="static"),
        pytest.param(True, id="dynamic", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", CASES)
def test_sums_are_as_exact_as_eager(name: str, dynamic: bool) -> None:
    function, shape = CASES[name]
    # One sign: the roundings of a running sum would add up.
    value = torch.rand(shape, generator=torch.Generator().manual_seed(5)) + 0.25
    exact = function(value.double())
    ours = _worst_error(_compiled(function, value, dynamic), exact)
    assert ours <= 2 * _worst_error(function(value), exact)


@pytest.mark.parametrize("points", [1 << 11, 1 << 17, 1 << 20])
def test_one_sum_of_everything(points: int) -> None:
    # A single number's error is chance: bounded by a few roundings instead of eager's.
    value = torch.rand(points, generator=torch.Generator().manual_seed(6)) + 0.25
    exact = value.double().sum()
    ours = _worst_error(_compiled(lambda a: a.sum(), value, False), exact)
    assert ours <= 4 * 2**-24


@pytest.mark.parametrize(
    ("shape", "axis"), [((24, 1 << 16), 1), ((1 << 16, 24), 0), ((8, 4096, 40), 1)]
)
def test_variances(shape: tuple[int, ...], axis: int) -> None:
    # Eager accumulates them in float64, so that its own error is one rounding.
    value = torch.randn(shape, generator=torch.Generator().manual_seed(7)) + 3
    ours = _compiled(lambda a: a.var(axis), value, False)
    assert _worst_error(ours, value.double().var(axis)) <= 8 * 2**-24
