"""Launches of ten graphs, and that neighbours without dependencies share one."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch._inductor.scheduler import fusion_log
from torch._inductor.utils import run_and_get_code

torch.manual_seed(0)


def _rope(q: Any, k: Any, cos: Any, sin: Any) -> Any:
    def turned(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([-x[..., 32:], x[..., :32]], -1)

    return q * cos + turned(q) * sin, k * cos + turned(k) * sin


def _sgd(*tensors: torch.Tensor) -> list[torch.Tensor]:
    half = len(tensors) // 2
    return [p - 0.1 * g for p, g in zip(tensors[:half], tensors[half:])]


def _adam(*tensors: torch.Tensor) -> list[torch.Tensor]:
    count = len(tensors) // 4
    steps = zip(*(tensors[i * count : (i + 1) * count] for i in range(4)))
    results = []
    for p, g, m, v in steps:
        m, v = m * 0.9 + g * 0.1, v * 0.999 + g * g * 0.001
        results += [p - 0.01 * m / (v.sqrt() + 1e-8), m, v]
    return results


def _residual(x: Any, r: Any, w: Any, b: Any) -> Any:
    return F.layer_norm(r + F.dropout(x, 0.1, True), (256,), w, b)


_PARAMETERS = [torch.rand(64, 64) for _ in range(4)] + [
    torch.rand(64) for _ in range(4)
]
_ROWS, _W = torch.randn(64, 256), torch.randn(256)

# graph -> function, inputs, launches, launches of Inductor's CPU backend (torch 2.13.0)
GRAPHS: dict[str, tuple[Callable[..., Any], list[torch.Tensor], int, int]] = {
    "softmax": (lambda a: F.softmax(a, -1), [torch.randn(64, 512)], 1, 1),
    "layer_norm_forward_backward": (
        lambda a, w, b: F.layer_norm(a, (256,), w, b),
        [_ROWS, _W, _W.flip(0)],
        2,
        2,
    ),
    "gelu_mlp": (
        lambda a, b, r: F.gelu(a + b) * r + a,
        [_ROWS, _W, _ROWS.flip(0)],
        1,
        1,
    ),
    "rope": (
        _rope,
        [torch.randn(2, 4, 16, 64) for _ in range(2)]
        + [torch.randn(16, 64) for _ in range(2)],
        1,
        1,
    ),
    "cross_entropy_forward_backward": (
        lambda a, t: F.cross_entropy(a, t),
        [torch.randn(64, 512), torch.randint(0, 512, (64,))],
        2,
        2,
    ),
    "sgd": (_sgd, _PARAMETERS * 2, 1, 1),
    "adam": (_adam, _PARAMETERS * 4, 1, 1),
    "dropout_residual_norm": (_residual, [_ROWS, _ROWS.flip(0), _W, _W], 1, 1),
    "group_norm": (
        lambda a, w, b: F.group_norm(a, 4, w, b),
        [torch.randn(4, 16, 8, 8), torch.randn(16), torch.randn(16)],
        1,
        1,
    ),
    "embedding_norm": (
        lambda w, i, g, b: F.layer_norm(F.embedding(i, w), (256,), g, b),
        [torch.randn(100, 256), torch.randint(0, 100, (64,)), _W, _W],
        1,
        1,
    ),
}


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def _on_card(name: str, value: torch.Tensor) -> torch.Tensor:
    moved = value.clone().to("spyre")
    return moved.requires_grad_("backward" in name and value.is_floating_point())


@pytest.mark.parametrize("name", GRAPHS)
def test_launches(name: str) -> None:
    function, inputs, launches, _ = GRAPHS[name]
    arguments = [_on_card(name, x) for x in inputs]

    def run() -> Any:
        result = torch.compile(function, backend="spyre")(*arguments)
        if "backward" in name:
            result.sum().backward()
        return result

    result, codes = run_and_get_code(run)
    calls = sum(len(re.findall(r"^\s+spyre_\w+\(", code, re.M)) for code in codes)
    assert calls == launches
    if "dropout" not in name:
        expected = function(*inputs)
        actual = torch.utils._pytree.tree_map(lambda t: t.detach().cpu(), result)
        torch.testing.assert_close(actual, expected)


class _Lines(logging.Handler):
    """Keeps what is logged."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def test_counts_are_never_more_than_inductor_cpus() -> None:
    assert all(ours <= cpu for _, _, ours, cpu in GRAPHS.values())


def test_dependent_kernels_stay_apart() -> None:
    """A column sum over many cores of what a row kernel wrote must wait for every row."""
    x = torch.randn(64, 4096)

    def function(a: torch.Tensor) -> Any:
        rows = F.softmax(a, -1)
        return rows, rows.sum(0), a.sum(0)

    refusals = _Lines(logging.DEBUG)
    level = fusion_log.level
    fusion_log.addHandler(refusals)
    fusion_log.setLevel(logging.DEBUG)
    try:
        result, codes = run_and_get_code(
            torch.compile(function, backend="spyre"), x.to("spyre")
        )
    finally:
        fusion_log.removeHandler(refusals)
        fusion_log.setLevel(level)
    actual = [t.cpu() for t in result]
    torch.testing.assert_close(actual, list(function(x)))
    assert any("it reads what they write and is worth" in x for x in refusals.lines)
    assert sum(len(re.findall(r"^\s+spyre_\w+\(", c, re.M)) for c in codes) >= 2


def test_a_buffer_is_not_reused_while_its_reader_waits() -> None:
    """Chains of independent temporaries: memory of one must not go to another too early."""

    def function(*tensors: torch.Tensor) -> Any:
        results = []
        for t in tensors:
            middle = (t + 1).sum(0)  # a buffer
            results.append((middle * 2).cumsum(0))
        return results

    inputs = [torch.randn(40 + i, 30) for i in range(6)]
    compiled = torch.compile(function, backend="spyre")
    for _ in range(2):
        actual = [t.cpu() for t in compiled(*(x.to("spyre") for x in inputs))]
        torch.testing.assert_close(actual, function(*inputs))
