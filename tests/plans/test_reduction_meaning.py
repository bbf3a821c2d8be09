"""Plans of reductions and fused row kernels, interpreted in numpy, equal CPU eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.support.interpreted_backend import check_against_eager

torch.manual_seed(0)
_ROWS = torch.randn(6, 300)


def _grad(*shape: int) -> torch.Tensor:
    return torch.randn(*shape).requires_grad_()


def _with_backward(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        loss = (function(*args) ** 2).sum()
        inputs = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
        return (loss, *torch.autograd.grad(loss, inputs))

    return run


CASES = {
    "sum": (lambda a: a.sum(-1), _ROWS),
    "mean_of_all": (lambda a: a.mean(), _ROWS),
    "softmax": (lambda a: F.softmax(a, -1), _ROWS),
    "column_softmax": (lambda a: F.softmax(a, 0), torch.randn(40, 33)),
    "argmax": (lambda a: a.argmax(-1), _ROWS),
    "argmax_of_transposed": (lambda a: a.t().argmax(), _ROWS),
    "columns": (lambda a: a.sum(0), torch.randn(64, 30)),
    "bfloat16": (lambda a: (a.exp() * a).sum(-1), _ROWS.bfloat16()),
    "variance": (lambda a: a.var(-1), _ROWS),
    "cumsum": (lambda a: a.cumsum(-1), _ROWS),
    "cummax": (lambda a: a.cummax(-1), torch.randn(6, 30)),
    "logcumsumexp": (lambda a: a.logcumsumexp(-1), torch.randn(6, 30)),
    "any_all": (lambda a: ((a > 2).any(-1), (a > -2).all(-1)), torch.randn(8, 50)),
    "extremes": (lambda a: (a.amax(-1), a.amin(0)), torch.randn(8, 50)),
    "prod": (lambda a: a.prod(-1), torch.randn(8, 20)),
    "float64": (lambda a: a.exp().sum(), torch.randn(8, 20).double()),
    "empty": (lambda a: a.sum(-1) + 1, torch.randn(3, 0)),
    "bools": (lambda a: (a.all(), a.any(), a.sum(), a.cumsum(0)), torch.rand(20) > 0.5),
    "outer_and_inner": (lambda a: a.mean((0, 2)), torch.randn(5, 6, 7)),
    "logsumexp": (lambda a: a.logsumexp((0, 2)), torch.randn(5, 6, 7)),
    "masked_softmax": (
        lambda a, m: a.masked_fill(m, -1e9).softmax(-1),
        torch.randn(5, 30),
        torch.rand(5, 30) > 0.5,
    ),
    "max_pool": (lambda a: F.max_pool2d(a, 3, 2, 1), torch.randn(2, 3, 9, 9)),
    "softmax_backward": (_with_backward(lambda a: F.softmax(a, -1)), _grad(6, 300)),
    "log_softmax_backward": (
        _with_backward(lambda a: F.log_softmax(a, -1)),
        _grad(6, 300),
    ),
    "layer_norm_backward": (
        _with_backward(lambda a, w, b: F.layer_norm(a, (300,), w, b)),
        _grad(6, 300),
        _grad(300),
        _grad(300),
    ),
    "rms_norm_backward": (
        _with_backward(lambda a, w: F.rms_norm(a, (300,), w)),
        _grad(6, 300),
        _grad(300),
    ),
    "gelu_backward": (
        _with_backward(lambda a, b: F.gelu(a + b)),
        _grad(6, 300),
        _grad(300),
    ),
    "cross_entropy_backward": (
        _with_backward(lambda a, t: F.cross_entropy(a, t)),
        _grad(8, 50),
        torch.randint(0, 50, (8,)),
    ),
    "batch_norm_backward": (
        _with_backward(lambda a, w, b: F.batch_norm(a, None, None, w, b, True)),
        _grad(4, 3, 8, 8),
        _grad(3),
        _grad(3),
    ),
    "group_norm_backward": (
        _with_backward(lambda a, w, b: F.group_norm(a, 2, w, b)),
        _grad(2, 4, 9, 9),
        _grad(4),
        _grad(4),
    ),
    "embedding_backward": (
        _with_backward(lambda w, i: F.embedding(i, w)),
        _grad(30, 4),
        torch.randint(0, 30, (7, 3)),
    ),
    "max_pool_backward": (
        _with_backward(lambda a: F.max_pool2d(a, 3, 2, 1)),
        _grad(2, 3, 9, 9),
    ),
    "std_backward": (_with_backward(lambda a: a.std(0)), _grad(30, 4)),
    "cumsum_backward": (_with_backward(lambda a: a.cumsum(0)), _grad(30, 4)),
}


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", CASES)
def test_plan_equals_eager(name: str, dynamic: bool) -> None:
    function, *inputs = CASES[name]
    check_against_eager(function, *inputs, dynamic=dynamic)


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (lambda a: F.softmax(a, -1), (_ROWS,)),
        (lambda a, w, b: F.layer_norm(a, (300,), w, b), (_ROWS, _ROWS[0], _ROWS[1])),
        (lambda a, w: F.rms_norm(a, (300,), w), (_ROWS, _ROWS[0])),
        (
            lambda a, r, w: F.layer_norm(torch.relu(a) + r, (300,), w) * 2,
            (_ROWS, _ROWS.flip(0), _ROWS[0]),
        ),
    ],
    ids=["softmax", "layer_norm", "rms_norm", "producer_and_consumer"],
)
def test_row_operators_are_one_kernel(function: Any, inputs: Any) -> None:
    assert len(check_against_eager(function, *inputs)) == 1


def test_softmax_computes_its_exponential_once() -> None:
    (plan,) = check_against_eager(lambda a: F.softmax(a, -1), _ROWS)
    exps = [
        op
        for stage in plan.stages
        for op in stage.ops
        if getattr(op, "op", None) == "exp"
    ]
    assert len(exps) == 1
    assert plan.tile.staged == (exps[0].result,)
