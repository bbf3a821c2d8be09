"""What is measured: name, inputs and function of each case. Shapes are [rows, columns]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

DTYPES = ("float32", "bfloat16", "float16")
# Size name -> rows, columns. One float32 tensor: 0.5 MiB fits L2, 8 MiB fits L3, 64 MiB neither.
SIZES = {"L2": (128, 1024), "L3": (2048, 1024), "DRAM": (8192, 2048)}
SEED = 7


def scale_add_relu(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.relu(a * 2 + b)


def gelu_mul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.gelu(a) * b


def silu_mul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.silu(a) * b


def tanh_add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.tanh(a) + b


def softmax(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.softmax(a + b, -1)


def log_softmax(a: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    return torch.log_softmax(a, -1)


def layer_norm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(a + b, a.shape[-1:])


def rms_norm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.rms_norm(a + b, a.shape[-1:], eps=1e-6)


def row_sum(a: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    return a.sum(-1)


def row_max(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a * b).amax(-1)


def column_sum(a: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    return a.sum(0)


def column_mean_square(a: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    return (a * a).mean(0)


@dataclass(frozen=True)
class Group:
    """Cases with one goal: ours must be `goal` times as fast as Inductor CPU, geometric mean."""

    name: str
    goal: float
    sizes: tuple[str, ...]
    dtypes: tuple[str, ...]
    functions: tuple[Callable[..., torch.Tensor], ...]


_POINTWISE = (scale_add_relu, gelu_mul, silu_mul, tanh_add)
GROUPS = (
    Group("pointwise, L2", 1.8, ("L2",), DTYPES, _POINTWISE),
    Group("pointwise, L3", 1.6, ("L3",), DTYPES, _POINTWISE),
    Group("pointwise, DRAM", 3.0, ("DRAM",), DTYPES, _POINTWISE),
    Group(
        "row reductions, norms",
        1.7,
        ("L2", "L3"),
        DTYPES,
        (softmax, log_softmax, layer_norm, rms_norm, row_sum, row_max),
    ),
    Group(
        "column sums",
        3.5,
        ("L2", "L3"),
        ("float32",),
        (column_sum, column_mean_square),
    ),
)


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    group: str
    function: Callable[..., torch.Tensor]
    size: str
    dtype: str

    @property
    def name(self) -> str:
        return f"{self.function.__name__} {self.size} {self.dtype}"

    def inputs(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Two normal CPU tensors [rows, columns], the same in every process."""
        generator = torch.Generator().manual_seed(SEED)
        shape, dtype = SIZES[self.size], getattr(torch, self.dtype)
        a = torch.randn(shape, generator=generator).to(dtype)
        return a, torch.randn(shape, generator=generator).to(dtype)


def all_cases() -> list[Case]:
    return [
        Case(group.name, function, size, dtype)
        for group in GROUPS
        for size in group.sizes
        for dtype in group.dtypes
        for function in group.functions
    ]


def short_cases() -> list[Case]:
    """About a third of them: every group and type, not every combination."""
    chosen = []
    for group in GROUPS:
        for index, function in enumerate(group.functions):
            size = group.sizes[index % len(group.sizes)]
            dtype = group.dtypes[index % len(group.dtypes)]
            chosen.append(Case(group.name, function, size, dtype))
    return chosen
