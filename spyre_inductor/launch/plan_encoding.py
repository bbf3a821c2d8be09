"""A LaunchPlan as the nested tuples that `_C.make_launch_plan` reads (bindings/launch_plan.cpp)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ..errors import PlanError
from ..plan.expr import IntExpr
from ..plan.launch_plan import (
    Argument,
    EnumArgument,
    ExternStep,
    InputOutput,
    KernelStep,
    LaunchPlan,
    ListArgument,
    Output,
    SeedStep,
    SizeArgument,
    SizeOutput,
    SlotArgument,
    Step,
    TensorOutput,
)
from .int_program import compile_int_expr

_SIZE_KINDS = {"value": 0, "size": 1, "stride": 2}
_MEMORY_SOURCES = {"input": 0, "output": 1, "temporary": 2}
_MEMORY_FORMATS = {
    "contiguous_format": 0,
    "preserve_format": 1,
    "channels_last": 2,
    "channels_last_3d": 3,
}
_STRIDED = 0


class PlanEncoder:
    """Encodes one plan; collects the sizes that its steps use into one table.

    Args:
        kernels: The graph's kernels by name.
    """

    def __init__(self, plan: LaunchPlan, kernels: Mapping[str, Any]) -> None:
        self._plan = plan
        self._kernels = kernels
        self._symbols = [size.name for size in plan.sizes]
        self._size_table: dict[tuple[int, ...], int] = {}

    def encode(self) -> tuple[Any, ...]:
        """Arguments of `_C.make_launch_plan`. Raises PlanError."""
        plan = self._plan
        steps = tuple(self._step(step) for step in plan.steps)
        outputs = tuple(self._output(output) for output in plan.outputs)
        return (
            plan.name,
            plan.device,
            plan.cpu_resident,
            plan.input_count + len(plan.constants),
            tuple((s.input, _SIZE_KINDS[s.kind], s.dim) for s in plan.sizes),
            tuple(self._size_table),
            tuple(
                (_MEMORY_SOURCES[m.source], m.input, self._program(m.bytes))
                for m in plan.memories
            ),
            tuple(
                (
                    slot.name,
                    slot.memory,
                    getattr(torch, slot.dtype),
                    tuple(map(self._program, slot.shape)),
                    tuple(map(self._program, slot.strides)),
                    self._program(slot.offset),
                )
                for slot in plan.slots
            ),
            steps,
            outputs,
        )

    def _program(self, expr: IntExpr) -> tuple[int, ...]:
        return compile_int_expr(expr, self._symbols)

    def _size(self, expr: IntExpr) -> int:
        """Position of the expression in the table of evaluated sizes."""
        return self._size_table.setdefault(self._program(expr), len(self._size_table))

    def _step(self, step: Step) -> tuple[Any, ...]:
        if isinstance(step, KernelStep):
            if step.kernel not in self._kernels:
                raise PlanError(
                    f"launch plan runs kernel {step.kernel}, which was not built"
                )
            sizes = tuple(map(self._size, step.scalars))
            return (0, self._kernels[step.kernel], step.slots, sizes, step.barrier)
        if isinstance(step, ExternStep):
            arguments = tuple(map(self._argument, step.arguments))
            results = tuple((result.slot, result.path) for result in step.results)
            return (1, step.operator, step.overload, arguments, results)
        assert isinstance(step, SeedStep)
        return (2, step.slot)

    def _argument(self, argument: Argument) -> tuple[Any, ...]:
        if isinstance(argument, SlotArgument):
            return (0, argument.slot)
        if isinstance(argument, SizeArgument):
            return (1, self._size(argument.expr))
        if isinstance(argument, ListArgument):
            return (3, tuple(map(self._argument, argument.items)))
        if isinstance(argument, EnumArgument):
            return _enum(argument)
        return (2, argument)

    def _output(self, output: Output) -> tuple[int, int]:
        if isinstance(output, TensorOutput):
            return (0, output.slot)
        if isinstance(output, InputOutput):
            return (1, output.input)
        if isinstance(output, SizeOutput):
            return (2, self._size(output.expr))
        return (3, 0)


def _enum(argument: EnumArgument) -> tuple[Any, ...]:
    if argument.kind == "dtype":
        return (2, getattr(torch, argument.name))
    if argument.kind == "device":
        return (4,)
    if argument.kind == "memory_format":
        return (2, _MEMORY_FORMATS[argument.name])
    if argument.name != "strided":
        raise PlanError(
            f"launch plan holds layout {argument.name}; only strided is known"
        )
    return (2, _STRIDED)
