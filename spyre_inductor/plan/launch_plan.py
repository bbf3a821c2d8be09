"""LaunchPlan: one call of a compiled graph as data, replayed by the device with one enqueue.

Tensors live in numbered slots: first the graph's inputs, then what steps allocate. Sizes are
IntExpr over the names in `sizes`, evaluated once per call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from .expr import IntExpr


@dataclass(frozen=True)
class TensorSlot:
    """A tensor the plan touches; `source` is "input", "output", "temporary" or "constant"."""

    name: str  # graph buffer name
    dtype: str
    shape: tuple[IntExpr, ...]
    strides: tuple[IntExpr, ...]
    source: str


@dataclass(frozen=True)
class AllocateStep:
    """Gives slot `slot` memory of `bytes`, or that of `reuses` when it fits."""

    slot: int
    bytes: IntExpr
    reuses: int | None = None


@dataclass(frozen=True)
class KernelStep:
    """Runs entry point `kernel` with slots in KernelPlan.buffers order and its scalars."""

    kernel: str
    slots: tuple[int, ...]
    scalars: tuple[IntExpr, ...] = ()


@dataclass(frozen=True)
class ExternStep:
    """Calls an ATen operator; the position is its line in the generated wrapper."""

    operator: str
    position: int


@dataclass(frozen=True)
class FreeStep:
    """The slot's memory may be reused by later steps."""

    slot: int


Step = Union[AllocateStep, KernelStep, ExternStep, FreeStep]


@dataclass(frozen=True)
class LaunchPlan:
    """Everything one call of a compiled graph does on the card."""

    name: str
    sizes: tuple[str, ...]
    slots: tuple[TensorSlot, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
