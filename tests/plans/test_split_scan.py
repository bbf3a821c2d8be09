"""Scans of a few long rows run as three kernels and give eager's numbers."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from spyre_inductor.kernel.split_scan import split_scan
from tests.support.interpreted_backend import check_against_eager
from tests.support.rendered_backend import check_rendered

_GENERATOR = torch.Generator().manual_seed(0)
_ROW = torch.randn(1 << 18, generator=_GENERATOR)
_WHOLE = torch.randint(-9, 9, (1 << 18,), generator=_GENERATOR)


def _with_nan(row: torch.Tensor) -> torch.Tensor:
    row = row.clone()
    row[200_000] = torch.nan
    return row


CASES: dict[str, Any] = {
    "sum": (lambda a: a.cumsum(0), _ROW),
    "sum_of_computed_then_used": (lambda a: ((a * 2).cumsum(0) + a).exp2(), _ROW / 1e3),
    "few_rows": (lambda a: a.cumsum(1), _ROW.view(2, -1)),
    "columns": (lambda a: a.cumsum(0), _ROW.view(-1, 2)),
    "product": (lambda a: a.cumprod(0), 1 + _ROW / 1e3),
    "wrapping_product": (lambda a: a.cumprod(0), _WHOLE + 10),
    "float64": (lambda a: a.cumsum(0), _ROW.double()),
    "bfloat16": (lambda a: a.cumsum(0), torch.ones(1 << 18).bfloat16()),
    "nan": (lambda a: a.cumsum(0), _with_nan(_ROW)),
}


def _names(plans: list[Any]) -> list[str]:
    return [plan.name.rsplit("_", 1)[-1] for plan in plans]


_FAST = ("sum", "few_rows", "product", "nan")


@pytest.mark.parametrize(
    "name",
    [n if n in _FAST else pytest.param(n, marks=pytest.mark.slow) for n in CASES],
)
def test_three_kernels_equal_eager(name: str) -> None:
    function, value = CASES[name]
    plans = check_rendered(function, value)
    assert _names(plans) == ["totals", "offsets", "scan"]
    assert plans[0].division.cores == plans[2].division.cores >= 2
    assert plans[1].division.cores == 1


def test_the_plans_mean_the_same() -> None:
    plans = check_against_eager(lambda a: a.cumprod(0), _WHOLE)
    assert _names(plans) == ["totals", "offsets", "scan"]


def test_running_sums_are_as_exact_as_in_one_piece() -> None:
    value = torch.rand(1 << 18, generator=_GENERATOR)
    exact = value.double().cumsum(0)
    check_rendered(lambda a: a.cumsum(0), value, rtol=2**-23, atol=0)
    assert exact[-1] > 1e5


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (lambda a: a.cumsum(0), _ROW[:4096]),
        (lambda a: a.cumsum(1), _ROW.view(64, -1)),
        (lambda a: a.cumsum(0), _WHOLE),
    ],
    ids=["short", "many_rows", "sums_of_integers"],
)
def test_other_scans_stay_one_kernel(function: Any, value: torch.Tensor) -> None:
    plans = check_rendered(function, value)
    assert all(split_scan(plan, 32) is None for plan in plans)
    assert len(plans) == 1
