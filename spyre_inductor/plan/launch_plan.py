"""LaunchPlan: one call of a compiled graph as data, replayed by the device with one enqueue.

A tensor slot is a typed, strided view of one memory; a memory belongs to an input, leaves with an
output, or is temporary. Sizes are IntExpr over the names in `sizes`. Steps run in order. Which
temporaries share bytes is decided when the sizes are known, from first and last use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from .expr import IntExpr


@dataclass(frozen=True)
class SizeSource:
    """A size of the call: an integer input, or a size or stride of a tensor input."""

    name: str  # s0
    input: int
    kind: str  # "value", "size", "stride"
    dim: int = 0


@dataclass(frozen=True)
class Memory:
    """A block of bytes. `source`: "input" (of input `input`), "output", "temporary"."""

    source: str
    bytes: IntExpr = 0  # not used for inputs
    input: int = -1


@dataclass(frozen=True)
class TensorSlot:
    """A tensor the plan touches; `offset` in elements from the memory's start."""

    name: str  # graph buffer name
    memory: int
    dtype: str
    shape: tuple[IntExpr, ...]
    strides: tuple[IntExpr, ...]
    offset: IntExpr = 0


# --- arguments of an extern call ----------------------------------------------------------------


@dataclass(frozen=True)
class SlotArgument:
    slot: int


@dataclass(frozen=True)
class SizeArgument:
    expr: IntExpr


@dataclass(frozen=True)
class EnumArgument:
    """A dtype, layout, memory format or device: kind and torch's name for it."""

    kind: str  # "dtype", "layout", "memory_format", "device"
    name: str


@dataclass(frozen=True)
class ListArgument:
    items: tuple[Argument, ...]


Argument = Union[
    SlotArgument, SizeArgument, EnumArgument, ListArgument, int, float, bool, str, None
]

# --- steps --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KernelStep:
    """Runs entry point `kernel` with slots in KernelPlan.buffers order and its scalars.

    `writes` are positions in `slots`. Without `barrier` it may run beside the kernels before it.
    """

    kernel: str
    slots: tuple[int, ...]
    scalars: tuple[IntExpr, ...] = ()
    writes: tuple[int, ...] = ()
    barrier: bool = True


@dataclass(frozen=True)
class Result:
    """Where a value that an operator returns goes: `path` indexes the returned tuple or list."""

    slot: int
    path: tuple[int, ...] = ()


@dataclass(frozen=True)
class ExternStep:
    """Calls an ATen operator on the slots' memory; every schema argument is given, in order."""

    operator: str  # "aten::addmm"
    overload: str  # "out"
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...] = ()


@dataclass(frozen=True)
class SeedStep:
    """Fills an int64 slot with seeds drawn from the card's generator at the call."""

    slot: int


Step = Union[KernelStep, ExternStep, SeedStep]

# --- outputs ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TensorOutput:
    """A tensor over a slot's memory."""

    slot: int


@dataclass(frozen=True)
class InputOutput:
    """The very object that was passed in."""

    input: int


@dataclass(frozen=True)
class SizeOutput:
    expr: IntExpr


Output = Union[TensorOutput, InputOutput, SizeOutput, None]


@dataclass(frozen=True)
class LaunchPlan:
    """Everything one call of a compiled graph does on the card.

    Inputs are the graph's, then the tensors named in `constants`.
    """

    name: str
    device: int
    input_count: int
    constants: tuple[str, ...]
    sizes: tuple[SizeSource, ...]
    memories: tuple[Memory, ...]
    slots: tuple[TensorSlot, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Output, ...]
    cpu_resident: bool = False  # inputs and outputs live on the CPU
