"""The arguments of a plan: buffers in launch order, then sizes known at launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy
from torch._inductor.codegen.common import RemovedArg
from torch._inductor.virtualized import V
from torch.utils._sympy.symbol import SymT, symbol_is_type

from spyre_inductor.errors import PlanError
from spyre_inductor.plan.affine import value_range
from spyre_inductor.plan.expr import IntExpr
from spyre_inductor.plan.kernel_plan import (
    Bucketize,
    BufferArgument,
    Load,
    ScalarArgument,
    Stage,
    Store,
)

from .dtypes import dtype_name


def buffer_arguments(
    kernel: Any,
    stages: Sequence[Stage],
    extents: Mapping[str, IntExpr],
    convert: Callable[[Any], IntExpr],
) -> tuple[BufferArgument, ...]:
    """One BufferArgument per tensor argument, in the order of `python_argdefs`.

    Args:
        extents: of every axis.
    """
    argdefs, call_args, _, _ = kernel.args.python_argdefs()
    read, written = _accesses(stages)
    reach = _static_reach(stages, extents)
    sharing = {
        buf.inner_name: tuple(buf.other_names)
        for buf in kernel.args.inplace_buffers.values()
        if not isinstance(buf, RemovedArg)
    }
    arguments = []
    for argdef, graph_name in zip(argdefs, call_args):
        if not isinstance(graph_name, str):
            continue  # a size
        name = argdef.name
        shape, strides, elems = _layout(graph_name)
        arguments.append(
            BufferArgument(
                name=name,
                buffers=sharing.get(name, (graph_name,)),
                dtype=dtype_name(V.graph.get_dtype(graph_name)),
                access=_access(name in read, name in written),
                shape=tuple(convert(size) for size in shape),
                strides=tuple(convert(stride) for stride in strides),
                storage_elems=_addressable(graph_name, name, convert(elems), reach),
            )
        )
    return tuple(arguments)


def _static_reach(
    stages: Sequence[Stage], extents: Mapping[str, IntExpr]
) -> dict[str, int]:
    """Elements that affine loads of known extent need, by buffer."""
    ranges = {
        name: (0, extent - 1)
        for name, extent in extents.items()
        if isinstance(extent, int)
    }
    reach: dict[str, int] = {}
    for stage in stages:
        for op in stage.ops:
            if isinstance(op, (Load, Store)):
                limits = value_range(op.index, ranges)
                if limits is not None:
                    reach[op.buffer] = max(reach.get(op.buffer, 0), limits[1] + 1)
    return reach


def _addressable(
    graph_name: str, name: str, elems: IntExpr, reach: Mapping[str, int]
) -> IntExpr:
    """Elements behind the argument's address.

    An input may be a view of more memory than its own shape spans (as_strided); what the graph
    reads of it was checked against its storage when the graph was traced.
    """
    if graph_name in V.graph.graph_inputs and isinstance(elems, int):
        return max(elems, reach.get(name, 0))
    return elems


def scalar_arguments(kernel: Any) -> tuple[ScalarArgument, ...]:
    """One ScalarArgument per size symbol, in the order of `python_argdefs`."""
    arguments = []
    for symbol, name in kernel.args.sizevars.items():
        is_float = symbol_is_type(symbol, SymT.UNBACKED_FLOAT)
        hint = None if is_float else V.graph.sizevars.optimization_hint(symbol)
        dtype = "float64" if is_float else "int64"
        arguments.append(ScalarArgument(name, dtype, hint))
    return tuple(arguments)


def _accesses(stages: Sequence[Stage]) -> tuple[set[str], set[str]]:
    read: set[str] = set()
    written: set[str] = set()
    for stage in stages:
        for op in stage.ops:
            if isinstance(op, Load):
                read.add(op.buffer)
            elif isinstance(op, Bucketize):
                read.update(name for name in (op.boundaries, op.sorter) if name)
            elif isinstance(op, Store):
                written.add(op.buffer)
                if op.mode != "plain":
                    read.add(op.buffer)
    return read, written


def _access(read: bool, written: bool) -> str:
    if read and written:
        return "readwrite"
    return "write" if written else "read"


def _layout(
    graph_name: str,
) -> tuple[Sequence[sympy.Expr], Sequence[sympy.Expr], sympy.Expr]:
    """Shape, strides and addressable elements of a graph buffer.

    Raises:
        PlanError: when the graph has no such buffer.
    """
    buffer = V.graph.try_get_buffer(graph_name)
    if buffer is None:
        raise PlanError(f"kernel argument {graph_name} is not a buffer of the graph")
    layout = buffer.get_layout()
    size, stride = list(layout.size), list(layout.stride)
    elems: sympy.Expr = sympy.sympify(layout.offset) + 1
    for extent, step in zip(size, stride):
        elems = elems + (sympy.sympify(extent) - 1) * step
    if any(extent == 0 for extent in size):
        elems = sympy.S.Zero
    return size, stride, V.graph.sizevars.simplify(elems)
