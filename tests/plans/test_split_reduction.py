"""Long reductions with few outputs run as two kernels and give the same numbers."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.support.interpreted_backend import check_against_eager

torch.manual_seed(0)
_LONG = torch.randn(512, 1024)

CASES = {
    "mean": (lambda a: a.mean(), _LONG),
    "two_results": (lambda a: (a.sum(), (a * a).amax()), _LONG),
    "narrow_columns": (lambda a: a.sum(0), torch.randint(-9, 9, (8192, 64)).float()),
    "variance": (lambda a: a.var(), _LONG),
    "any": (lambda a: (a > 4).any(), _LONG),
    "int64": (lambda a: a.sum(), torch.randint(-9, 9, (512, 1024))),
    "stored_too": (lambda a: ((a + 1), (a + 1).sum()), _LONG),
    "argmax": (lambda a: a.argmax(), _LONG),
    "argmin_with_ties": (
        lambda a: (a.argmin(), a.amax()),
        torch.randint(-9, 9, (512, 1024)),
    ),
    "argmax_of_columns": (lambda a: a.argmax(0), torch.randn(8192, 64)),
    "argmax_of_bfloat16": (lambda a: (a * 2).argmax(), _LONG.bfloat16()),
    "argmin_of_nan": (
        lambda a: a.argmin(),
        _LONG.clone()
        .fill_(2)
        .index_put(
            (torch.tensor([100, 300]), torch.tensor([7, 5])), torch.tensor(torch.nan)
        ),
    ),
    "channels": (lambda a: a.sum((0, 2)), torch.randn(16, 4, 4096)),
}


@pytest.mark.parametrize("name", CASES)
def test_two_kernels_equal_eager(name: str) -> None:
    function, *inputs = CASES[name]
    plans = check_against_eager(function, *inputs)
    assert [plan.name.rsplit("_", 1)[-1] for plan in plans] == ["partial", "combine"]
    partial, combine = plans
    assert partial.division.axes == ("s0",) and partial.division.cores >= 2
    assert combine.reduction_axes[0].extent == partial.division.cores


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (lambda a: a.sum(-1), (_LONG,)),
        (lambda a: a.sum(), (torch.randn(100),)),
    ],
    ids=["many_outputs", "short"],
)
def test_other_reductions_stay_one_kernel(function: Any, inputs: Any) -> None:
    assert len(check_against_eager(function, *inputs)) == 1
