"""Lane axis, division over cores, and LX tile of a kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from torch._inductor.utils import sympy_index_symbol
from torch._inductor.virtualized import V

from spyre_inductor import config
from spyre_inductor.plan.expr import IntExpr
from spyre_inductor.plan.kernel_plan import (
    Division,
    Load,
    LoopStage,
    LxTile,
    Stage,
    Store,
)
from spyre_inductor.plan.limits import LX_BUDGET_BYTES, STICK_BYTES

from .staging import MAX_LANES, STAGED_BYTES_LIMIT

# Below this many operations a core is not worth waking.
_WORK_PER_CORE = 1 << 14
_UNKNOWN_SIZE = 4096
# Column reductions: a core's share of the columns, and into how many shares they are cut.
_COLUMNS_PER_CORE = 1024
_COLUMN_PIECES = 4
# Rows that a transposition reads together (kRunGroup of spyre_kernels/loops.h).
_ROWS_TOGETHER = 32
# With fewer, a reduction is cut along its rows rather than over them.
_FEW_ROWS = 8


@dataclass(frozen=True)
class IterationSpace:
    """Axes of a kernel in sympy form, outermost first."""

    parallel: tuple[str, ...]
    parallel_extents: tuple[sympy.Expr, ...]
    reduction: tuple[str, ...]
    reduction_extents: tuple[sympy.Expr, ...]

    def extents(self) -> dict[str, sympy.Expr]:
        """Axis name -> extent."""
        names = self.parallel + self.reduction
        return dict(zip(names, self.parallel_extents + self.reduction_extents))


@dataclass(frozen=True)
class Schedule:
    """What was chosen; `tile_extents` in sympy form."""

    lane_axis: str | None
    division: Division
    tile_extents: tuple[tuple[str, sympy.Expr], ...]
    tile_bytes: int

    def tile(
        self, convert: Callable[[Any], IntExpr], staged: tuple[str, ...]
    ) -> LxTile:
        """The LxTile of a plan."""
        extents = tuple((name, convert(value)) for name, value in self.tile_extents)
        return LxTile(extents, self.tile_bytes, staged)


def choose_schedule(
    kernel: Any, space: IterationSpace, stages: Sequence[Stage], staged_bytes: int
) -> Schedule:
    """Chooses lanes, division and tile for `stages` (indices in terms of the axes).

    Args:
        staged_bytes: what staged values take of LX with one lane per row.
    """
    accesses = list(_accesses(kernel, stages))
    lane = _lane_axis(space, accesses)
    if lane in space.parallel:
        if staged_bytes * MAX_LANES > STAGED_BYTES_LIMIT:
            lane = space.reduction[-1]
        else:
            staged_bytes *= MAX_LANES
    points = {name: _hint(extent) for name, extent in space.extents().items()}
    op_count = max(1, sum(len(stage.ops) for stage in stages))
    division = _division(space, points, op_count, lane, accesses)
    extents, size = _tile(space, points, accesses, staged_bytes)
    return Schedule(lane, division, extents, size)


def reads_rows(kernel: Any, space: IterationSpace, stages: Sequence[Stage]) -> bool:
    """Whether lanes run along a reduction axis, over several rows."""
    lane = _lane_axis(space, list(_accesses(kernel, stages)))
    rows = math.prod(_hint(extent) for extent in space.parallel_extents)
    return lane in space.reduction and rows >= _FEW_ROWS


@dataclass(frozen=True)
class _Access:
    index: sympy.Expr
    itemsize: int
    is_store: bool
    in_loop: bool


def _hint(extent: sympy.Expr) -> int:
    return int(V.graph.sizevars.optimization_hint(extent, fallback=_UNKNOWN_SIZE))


def _accesses(kernel: Any, stages: Sequence[Stage]) -> Iterator[_Access]:
    sizes = _itemsizes(kernel)
    for stage in stages:
        in_loop = isinstance(stage, LoopStage)
        for op in stage.ops:
            if isinstance(op, (Load, Store)):
                is_store = isinstance(op, Store)
                yield _Access(op.index, sizes[op.buffer], is_store, in_loop)


def _itemsizes(kernel: Any) -> dict[str, int]:
    argdefs, call_args, _, _ = kernel.args.python_argdefs()
    return {
        argdef.name: V.graph.get_dtype(name).itemsize
        for argdef, name in zip(argdefs, call_args)
        if isinstance(name, str)
    }


def _stride(index: sympy.Expr, axis: str) -> sympy.Expr:
    """Step of `index` when `axis` goes from 0 to 1."""
    symbol = sympy_index_symbol(axis)
    if symbol not in index.free_symbols:
        return sympy.S.Zero
    step = index.xreplace({symbol: sympy.S.One}) - index.xreplace(
        {symbol: sympy.S.Zero}
    )
    return V.graph.sizevars.simplify(step)


def _lane_axis(space: IterationSpace, accesses: list[_Access]) -> str | None:
    """The innermost parallel or the innermost reduction axis, whichever reads sticks."""
    candidates = []
    if space.reduction:
        candidates.append(space.reduction[-1])
    if space.parallel:
        candidates.append(space.parallel[-1])
    if not candidates:
        return None

    def score(axis: str) -> int:
        total = 0
        for access in accesses:
            if space.reduction and not access.in_loop:
                continue
            step = _stride(access.index, axis)
            if step == 1:
                total += 2
            elif step != 0:
                total -= 2
        extent = _hint(space.extents()[axis])
        return total if extent >= 4 else total - 4

    return max(candidates, key=score)


def _division(
    space: IterationSpace,
    points: dict[str, int],
    op_count: int,
    lane: str | None,
    accesses: list[_Access],
) -> Division:
    """A prefix of the parallel axes cut over cores by the amount of work."""
    total = math.prod(points[name] for name in space.parallel)
    per_point = math.prod(points[name] for name in space.reduction)
    wanted = max(1, total * per_point * op_count // _WORK_PER_CORE)
    cores = min(config.cores, wanted)
    axes: list[str] = []
    outer = 1
    for name in space.parallel:
        if axes and outer >= 4 * config.cores:
            break
        axes.append(name)
        outer *= points[name]
    grain = 1
    if axes and axes[-1] == lane:
        smallest = min((access.itemsize for access in accesses), default=4)
        grain = STICK_BYTES // smallest
        if space.reduction:
            # Rows are read in long pieces: a column of sticks would touch a page per row.
            piece = min(_COLUMNS_PER_CORE, -(-points[lane] // _COLUMN_PIECES))
            grain = max(grain, -(-piece // grain) * grain)
    elif axes and _reads_across(lane, axes[-1], accesses):
        grain = min(_ROWS_TOGETHER, max(1, points[axes[-1]]))
    units = -(-outer // grain)
    return Division(tuple(axes), max(1, min(cores, units)), grain)


def _reads_across(lane: str | None, beside: str, accesses: list[_Access]) -> bool:
    """Whether neighbours in memory lie along `beside` where lanes are a stride apart."""
    return lane is not None and any(
        _stride(access.index, beside) == 1 and _stride(access.index, lane) not in (0, 1)
        for access in accesses
    )


def _tile(
    space: IterationSpace,
    points: dict[str, int],
    accesses: list[_Access],
    staged_bytes: int,
) -> tuple[tuple[tuple[str, sympy.Expr], ...], int]:
    """Points per axis so that what one tile touches fits LX; innermost axes first."""
    budget = LX_BUDGET_BYTES - staged_bytes
    extents = space.extents()
    chosen: dict[str, sympy.Expr] = {}
    counts = dict.fromkeys(extents, 1)
    for name in reversed(list(extents)):
        counts[name] = points[name]
        if _tile_bytes(counts, accesses) <= budget:
            chosen[name] = extents[name]
            continue
        counts[name] = _largest_fit(name, counts, accesses, budget)
        chosen[name] = sympy.Integer(counts[name])
        if not extents[name].is_Integer:
            chosen[name] = sympy.Min(extents[name], chosen[name])
    ordered = tuple((name, chosen[name]) for name in extents)
    return ordered, staged_bytes + _tile_bytes(counts, accesses)


def _largest_fit(
    name: str, counts: dict[str, int], accesses: list[_Access], budget: int
) -> int:
    low, high = 1, max(1, counts[name])
    while low < high:
        middle = (low + high + 1) // 2
        if _tile_bytes({**counts, name: middle}, accesses) <= budget:
            low = middle
        else:
            high = middle - 1
    return low


def _tile_bytes(counts: dict[str, int], accesses: list[_Access]) -> int:
    """Bytes of all distinct accesses of one tile, each rounded up to sticks."""
    total = 0
    for access in set(accesses):
        elems = 1
        for name, count in counts.items():
            if sympy_index_symbol(name) in access.index.free_symbols:
                elems *= count
        sticks = -(-elems * access.itemsize // STICK_BYTES)
        total += sticks * STICK_BYTES
    return total
