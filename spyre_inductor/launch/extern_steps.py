"""Extern calls of a graph -> steps of its LaunchPlan.

The plan runs ATen operators by name on the slots' memory, off the Python thread. So an operator
must be ATen's, must not draw random numbers, and must not return a view of an argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sympy
import torch
from torch._inductor import ir
from torch._inductor.codegen import wrapper as lines
from torch._inductor.virtualized import V

from spyre_inductor.plan.launch_plan import (
    Argument,
    EnumArgument,
    ExternStep,
    ListArgument,
    Result,
    SeedStep,
    SizeArgument,
    SlotArgument,
    Step,
)

from .attention_steps import OPERATORS, kept_results, on_cpu_kernel

# Operators whose eager kernel does more than the CPU's (csrc/aten/histogram.cpp, embedding.cpp):
# how many of their results are the CPU's all the same.
_MORE_THAN_THE_CPU = {
    torch.ops.aten.histc.default: 0,
    torch.ops.aten._embedding_bag.default: 1,
    torch.ops.aten._embedding_bag_forward_only.default: 1,
}


class NotExpressible(Exception):
    """Why a graph has no LaunchPlan."""


def extern_operator(line: Any) -> str | None:
    """Name of the operator that a wrapper line calls outside of kernels; None for other lines."""
    kinds = (
        lines.ExternKernelOutLine,
        lines.ExternKernelAllocLine,
        lines.IndexPutFallbackLine,
        lines.ScatterFallbackLine,
    )
    if not isinstance(line, kinds):
        return None
    operator = line.node.op_overload
    return line.node.get_kernel_name() if operator is None else str(operator)


def extern_steps(builder: Any, line: Any) -> list[Step]:
    """Steps of one extern line. Raises NotExpressible for any other line."""
    if isinstance(line, lines.ExternKernelOutLine):
        return [_out_call(builder, line.node)]
    if isinstance(line, lines.ExternKernelAllocLine):
        return [_functional_call(builder, line.node)]
    if isinstance(line, lines.IndexPutFallbackLine):
        x, values = line.node.inputs[:2]
        args = (x, list(line.indices), values, *line.node.constant_args)
        return [_call(builder, _operator(line.node), args, {})]
    if isinstance(line, lines.ScatterFallbackLine):
        return [_scatter(builder, line.node)]
    raise NotExpressible(f"{type(line).__name__}")


def _operator(node: Any) -> torch._ops.OpOverload:
    operator = node.op_overload
    if not isinstance(operator, torch._ops.OpOverload):
        raise NotExpressible(
            f"extern kernel {node.get_kernel_name()} is no ATen operator"
        )
    if operator.namespace != "aten":
        raise NotExpressible(f"{operator} is not ATen's")
    if torch.Tag.nondeterministic_seeded in operator.tags:
        raise NotExpressible(f"{operator} draws random numbers")
    if _MORE_THAN_THE_CPU.get(operator, 1) < 1:
        raise NotExpressible(f"{operator} has a kernel of its own on spyre")
    if not torch._C._dispatch_has_computed_kernel_for_dispatch_key(
        operator.name(), "CPU"
    ):
        raise NotExpressible(f"{operator} has no CPU kernel")
    return operator


def _out_call(builder: Any, node: ir.ExternKernelOut) -> Step:
    if isinstance(node, ir.RandomSeeds):
        slot = builder.slot_for(node)
        if not builder.is_first_in_memory(slot):
            raise NotExpressible("seeds, drawn before the first step, in used memory")
        return SeedStep(slot)
    operator = _operator(node)
    if "out" not in {argument.name for argument in operator._schema.arguments}:
        raise NotExpressible(f"{operator} has no argument out")
    out = node.output_view if node.output_view is not None else node
    args = (*node.inputs, *node.constant_args)
    return _call(builder, operator, args, {**node.kwargs, "out": out})


def _functional_call(builder: Any, node: ir.ExternKernelAlloc) -> Step:
    if node.op_overload in OPERATORS:
        return _attention(builder, node)
    operator = _operator(node)
    schema = operator._schema
    returns_alias = any(ret.alias_info is not None for ret in schema.returns)
    if isinstance(node, ir.FallbackKernel):
        args, kwargs = node.unflatten_args(node.inputs, node.constant_args)
        kwargs = {**node.kwargs, **kwargs}
    else:
        args, kwargs = (*node.inputs, *node.constant_args), dict(node.kwargs)
    if isinstance(node.layout, ir.NoneLayout):
        return _call(builder, operator, args, kwargs)
    if returns_alias or getattr(node, "alias_names", None) or schema.is_mutable:
        raise NotExpressible(f"{operator} returns a view of an argument")
    return _call(builder, operator, args, kwargs, _results(builder, node))


def _attention(builder: Any, node: Any) -> Step:
    operator = node.op_overload
    values, kwargs = node.unflatten_args(node.inputs, node.constant_args)
    names = [argument.name for argument in operator._schema.arguments]
    call = on_cpu_kernel(
        operator, {**dict(zip(names, values, strict=False)), **node.kwargs, **kwargs}
    )
    if call is None:
        raise NotExpressible(f"{operator} with dropout or a gradient of the mask")
    # Slots of the results that the CPU's operator lacks stay as they are.
    results = _results(builder, node)
    kept = tuple(r for r in results if r.path[0] < kept_results(operator))
    return _call(builder, call[0], (), call[1], kept)


def _results(builder: Any, node: Any) -> tuple[Result, ...]:
    if not isinstance(node.layout, ir.MultiOutputLayout):
        return (Result(builder.allocate(node)),)
    # Nobody has memory for a result that nobody uses.
    outputs = [
        out
        for out in node.outputs
        if isinstance(out, ir.MultiOutput)
        and out.get_name() not in V.graph.removed_buffers
    ]
    equal = _MORE_THAN_THE_CPU.get(node.op_overload)
    if equal is not None and any(out.indices[0][1] >= equal for out in outputs):
        raise NotExpressible(f"{node.op_overload} has a kernel of its own on spyre")
    return tuple(
        Result(builder.allocate(out), tuple(index for _, index in out.indices))
        for out in outputs
    )


def _scatter(builder: Any, node: ir.ScatterFallback) -> Step:
    operator = _operator(node)
    tensors = list(node.inputs)
    src = tensors.pop() if node.src_is_tensor else node.constant_args[1]
    x, index = tensors
    known = {argument.name for argument in operator._schema.arguments}
    kwargs = {
        name: value
        for name, value in node.kwargs.items()
        if name in known and value is not None
    }
    return _call(builder, operator, (x, node.constant_args[0], index, src), kwargs)


def _call(
    builder: Any,
    operator: torch._ops.OpOverload,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    results: tuple[Result, ...] = (),
) -> ExternStep:
    """The call with every schema argument in its place."""
    values = []
    for position, argument in enumerate(operator._schema.arguments):
        if position < len(args) and not argument.kwarg_only:
            value = args[position]
        elif argument.name in kwargs:
            value = kwargs[argument.name]
        elif argument.has_default_value():
            value = argument.default_value
        else:
            raise NotExpressible(f"{operator} lacks argument {argument.name}")
        values.append(_argument(builder, value))
    name, _, overload = operator.name().partition(".")
    return ExternStep(name, overload, tuple(values), results)


def _argument(builder: Any, value: Any) -> Argument:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, ir.IRNode):
        if isinstance(value, ir.NoneAsConstantBuffer):
            return None
        if isinstance(value, ir.ShapeAsConstantBuffer):
            return _number(builder, value.expr)
        return SlotArgument(builder.slot_for(value))
    if isinstance(value, (int, float, sympy.Expr, torch.SymInt)):
        return _number(builder, value)
    if isinstance(value, Iterable):
        return ListArgument(tuple(_argument(builder, item) for item in value))
    for kind, cls in _ENUMS.items():
        if isinstance(value, cls):
            return EnumArgument(kind, str(value).removeprefix("torch."))
    raise NotExpressible(f"argument {value!r} of type {type(value).__name__}")


_ENUMS = {
    "dtype": torch.dtype,
    "layout": torch.layout,
    "memory_format": torch.memory_format,
    "device": torch.device,
}


def _number(builder: Any, value: Any) -> Argument:
    if isinstance(value, torch.SymInt):
        value = value.node.expr
    if not isinstance(value, sympy.Expr):
        return value
    if value.is_Integer:
        return int(value)
    if value.is_number:
        return float(value)
    return SizeArgument(builder.int_expr(value))
