"""Recorded stages of a SpyreKernel -> KernelPlan."""

from __future__ import annotations

import dataclasses
from typing import Any

import sympy
from torch._inductor.utils import sympy_index_symbol, sympy_subs
from torch._inductor.virtualized import V
from torch.utils._sympy.symbol import SymT, symbol_is_type

from spyre_inductor.plan.expr import IntExpr
from spyre_inductor.plan.kernel_plan import (
    Axis,
    IndexValue,
    KernelPlan,
    Operation,
    Stage,
    Store,
)
from spyre_inductor.plan.operations import (
    index_expressions,
    map_indices,
    operands,
    results,
)

from .arguments import buffer_arguments, scalar_arguments
from .axes import TreeAxes, axes_of_tree
from .dead_code import remove_dead_code
from .dtypes import dtype_name
from .index_checks import with_index_checks
from .index_cuts import index_cuts
from .indexing import HOST_ONLY, to_int_expr
from .recompute import stage_costly_values
from .recorder import PendingStore
from .roundings import drop_useless_roundings
from .source_notes import source_notes
from .staging import STAGED_BYTES_LIMIT, staged_bytes
from .tiling import IterationSpace, choose_schedule, reads_rows
from .two_pass_variance import two_pass_variance

_SIZES = (SymT.SIZE, SymT.PRECOMPUTED_SIZE, SymT.UNBACKED_INT)
# Longer rows leave the nearest caches between two passes.
_TWO_PASS_ROW_BYTES = 1 << 18
# Filled in by the scheduling once the kernel has a name.
UNNAMED = "unnamed"


def build_plan(kernel: Any) -> KernelPlan:
    """Closes the recording of `kernel` and gives its plan, with the name UNNAMED."""
    stages = remove_dead_code(_kept_stages(kernel))
    trees = _axes(kernel, stages)
    space = _iteration_space(kernel, trees)
    stages = [_with_axes(stage, trees, space) for stage in stages]
    stages, staged, staged_size = _staged(kernel, space, stages)
    stages = drop_useless_roundings(stages, _memory_types(kernel), staged)
    schedule = choose_schedule(kernel, space, stages, staged_size)
    sizes = _Sizes(kernel)
    final = tuple(
        dataclasses.replace(
            stage, ops=tuple(map_indices(op, sizes.convert) for op in stage.ops)
        )
        for stage in stages
    )
    axes = tuple(
        Axis(name, sizes.convert(extent), "parallel")
        for name, extent in zip(space.parallel, space.parallel_extents)
    )
    reduction_axes = tuple(
        Axis(name, sizes.convert(extent), "reduction")
        for name, extent in zip(space.reduction, space.reduction_extents)
    )
    tile = schedule.tile(sizes.convert, staged)
    extents = {axis.name: axis.extent for axis in (*axes, *reduction_axes)}
    buffers = buffer_arguments(kernel, final, extents, sizes.convert)
    final, checks = with_index_checks(
        final, (*axes, *reduction_axes), buffers, kernel.check_messages
    )
    return KernelPlan(
        name=UNNAMED,
        template="loops",
        buffers=buffers,
        scalars=scalar_arguments(kernel),
        axes=axes,
        reduction_axes=reduction_axes,
        stages=final,
        division=schedule.division,
        tile=tile,
        lane_axis=schedule.lane_axis,
        checks=checks,
        sources=source_notes(kernel),
    )


def _memory_types(kernel: Any) -> dict[str, str]:
    argdefs, call_args, _, _ = kernel.args.python_argdefs()
    return {
        argdef.name: dtype_name(V.graph.get_dtype(name))
        for argdef, name in zip(argdefs, call_args)
        if isinstance(name, str)
    }


class _Sizes:
    """Turns sympy into IntExpr, registering every size symbol as a scalar argument."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def convert(self, expr: Any) -> IntExpr:
        expr = self._kernel.rename_indexing(_with_host_sizes(sympy.sympify(expr)))
        return to_int_expr(expr)


def _with_host_sizes(expr: sympy.Expr) -> sympy.Expr:
    """`expr` with each size that takes float arithmetic left to the host, as one scalar."""
    roundings = expr.atoms(*HOST_ONLY)
    replacements = {
        part: V.graph.sizevars.lookup_precomputed_size(part)
        for part in roundings
        if all(symbol_is_type(s, _SIZES) for s in part.free_symbols)
    }
    return expr.xreplace(replacements)


def _kept_stages(kernel: Any) -> list[Stage]:
    """Stages without the stores of buffers that turned out to be unneeded."""
    return [
        dataclasses.replace(
            stage, ops=tuple(_settled(op) for op in stage.ops if not _gone(kernel, op))
        )
        for stage in kernel.recorder.stages
    ]


def _gone(kernel: Any, op: Operation) -> bool:
    return isinstance(op, PendingStore) and kernel.is_removed(op.graph_name)


def _settled(op: Operation) -> Operation:
    if isinstance(op, PendingStore):
        return Store(op.buffer, op.index, op.value, op.mode)
    return op


def _staged(
    kernel: Any, space: IterationSpace, stages: list[Stage]
) -> tuple[list[Stage], tuple[str, ...], int]:
    """Stages in which later loops find earlier loops' values in LX, those values, their bytes."""
    staging = kernel.staging
    row = staged_bytes(sympy.Mul(*space.reduction_extents), 4)
    if row is None or not space.reduction:
        return stages, tuple(staging.names), staging.bytes
    room = (STAGED_BYTES_LIMIT - staging.bytes) // max(1, row)
    written = {op.buffer for s in stages for op in s.ops if isinstance(op, Store)}
    names = tuple(staging.names)
    by_rows = reads_rows(kernel, space, stages)
    if row <= _TWO_PASS_ROW_BYTES and by_rows:
        two_pass = two_pass_variance(stages, row // 4, written, room)
        stages, names = two_pass.stages, (*names, *two_pass.staged)
    room -= len(names) - len(staging.names)
    restaged = stage_costly_values(
        stages, written, names, room, space.reduction if by_rows else ()
    )
    kept = remove_dead_code(restaged.stages)
    used = _used_across_loops(kept, (*names, *restaged.staged))
    extra = sum(1 for name in used if name not in staging.names)
    return kept, used, staging.bytes + row * extra


def _used_across_loops(stages: list[Stage], names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of `names` that a later stage than their own uses."""
    used: set[str] = set()
    for stage in stages:
        defined = {name for op in stage.ops for name in results(op)}
        for op in stage.ops:
            used.update(set(operands(op)) - defined)
    return tuple(name for name in dict.fromkeys(names) if name in used)


def _axes(kernel: Any, stages: list[Stage]) -> list[tuple[Any, TreeAxes]]:
    expressions = [e for s in stages for op in s.ops for e in index_expressions(op)]
    used = {symbol for expr in expressions for symbol in expr.free_symbols}
    cuts = index_cuts(expressions, kernel.range_tree_nodes)
    counts = {"x": 0, "r": 0}
    result = []
    for tree in kernel.range_trees:
        entries = [
            entry
            for symbol, entry in kernel.range_tree_nodes.items()
            if symbol in used and entry.root is tree
        ]
        entries.sort(key=lambda entry: entry.name)
        prefix = "r" if tree.is_reduction else "x"
        first, extra = counts[prefix], cuts.get(tree.prefix, ())
        axes = axes_of_tree(tree, entries, prefix, first, extra)
        counts[prefix] += len(axes.names)
        result.append((tree, axes))
    return result


def _iteration_space(kernel: Any, trees: list[tuple[Any, TreeAxes]]) -> IterationSpace:
    parallel: dict[str, sympy.Expr] = {}
    reduction: dict[str, sympy.Expr] = {}
    for tree, axes in trees:
        target = reduction if tree.is_reduction else parallel
        target.update(zip(axes.names, axes.extents))
    if not kernel.features.is_reduction():
        reduction = {}
    return IterationSpace(
        tuple(parallel),
        tuple(parallel.values()),
        tuple(reduction),
        tuple(reduction.values()),
    )


def _with_axes(
    stage: Stage, trees: list[tuple[Any, TreeAxes]], space: IterationSpace
) -> Stage:
    replacements: dict[sympy.Symbol, sympy.Expr] = {}
    for _, axes in trees:
        replacements.update(axes.replacements)
    ranges = {
        sympy_index_symbol(name): extent for name, extent in space.extents().items()
    }

    def rewrite(expr: sympy.Expr) -> sympy.Expr:
        expr = sympy_subs(sympy.sympify(expr), replacements)
        return V.graph.sizevars.simplify_with_ranges(expr, ranges)

    ops: list[Operation] = []
    for op in stage.ops:
        if isinstance(op, IndexValue) and op.dtype == "float64":
            ops.append(op)  # the name of a float scalar, not an index
        else:
            ops.append(map_indices(op, rewrite))
    return dataclasses.replace(stage, ops=tuple(ops))
