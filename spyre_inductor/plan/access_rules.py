"""Whether the loads and stores of a plan stay inside their buffers and store each place once.

How each kind of index is kept in range:

- over axes of known extent, linear or with divisions and modulos: decided here. Interval
  arithmetic proves it in range, or a point of the axes that is out of range refuses the plan.
  Where neither is found (parts that vary together, such as abs(x - 1)), by construction: the index
  is Inductor's, derived from shapes that it has checked.
- over symbolic sizes: by construction, as above; the launch checks sizes against the tensors.
- over a loaded or computed value: by a CheckBounds of the plan before the access, or proved from
  the ranges of the values it is computed from (`kernel/index_checks.py` adds the checks).
- of a masked load: lanes outside the mask are not read, so only the checks of values apply.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping

from . import kernel_plan as kp
from .affine import Range, is_injective, linear_form, value_range
from .expr import IntExpr, IntOp, evaluate, symbols

# Points that are tried when intervals decide nothing.
_MOST_POINTS = 1024


def access_problems(plan: kp.KernelPlan) -> Iterator[str]:
    """Accesses outside of a buffer; parallel points that store to one place."""
    extents = {
        axis.name: axis.extent
        for axis in (*plan.axes, *plan.reduction_axes)
        if isinstance(axis.extent, int)
    }
    if any(extent == 0 for extent in extents.values()):
        return
    sizes = {b.name: b.storage_elems for b in plan.buffers}
    parallel = {a.name: extents.get(a.name) for a in plan.axes}
    for stage in plan.stages:
        for op in stage.ops:
            if not isinstance(op, (kp.Load, kp.Store)):
                continue
            if not (isinstance(op, kp.Load) and op.mask is not None):
                yield from _bounds_problems(op, sizes[op.buffer], extents)
            if isinstance(op, kp.Store) and op.mode == "plain":
                yield from _overlap_problems(op, parallel)


def _bounds_problems(
    op: kp.Load | kp.Store, size: IntExpr, extents: Mapping[str, int]
) -> Iterator[str]:
    if not isinstance(size, int):
        return
    ranges: dict[str, Range] = {n: (0, extent - 1) for n, extent in extents.items()}
    reach = value_range(op.index, ranges)
    if reach is None or (reach[0] >= 0 and reach[1] < size):
        return
    kind = type(op).__name__
    if linear_form(op.index) is not None:
        yield (
            f"{kind} reaches elements {reach[0]}..{reach[1]} of buffer {op.buffer},"
            f" which has {size}: {op}"
        )
        return
    for point in _points(op.index, extents):
        element = evaluate(op.index, point)
        if not 0 <= element < size:
            yield (
                f"{kind} reaches element {element} of buffer {op.buffer}, which has"
                f" {size}, at {point}: {op}"
            )
            return


def _overlap_problems(
    op: kp.Store, parallel: Mapping[str, int | None]
) -> Iterator[str]:
    known = {name: extent for name, extent in parallel.items() if extent is not None}
    if len(known) < len(parallel) or not symbols(op.index) <= set(parallel):
        return
    form = linear_form(op.index)
    if form is not None:
        overlap = not is_injective(form, known)
    elif math.prod(known.values()) <= _MOST_POINTS:
        places = [evaluate(op.index, p) for p in _all_points(known, known)]
        overlap = len(set(places)) < len(places)
    else:
        return
    if overlap:
        yield f"two points store to one element of {op.buffer}: {op}"


def _points(index: IntExpr, extents: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """All points of the axes that `index` names, or, of many, those where it turns."""
    names = sorted(symbols(index))
    total = math.prod(extents[name] for name in names)
    if total <= _MOST_POINTS:
        yield from _all_points(names, extents)
        return
    turns = sorted({n for n in _constants(index) if n > 0})
    chosen = []
    for name in names:
        last = extents[name] - 1
        near = {0, 1, last}
        for turn in turns:
            near |= {turn - 1, turn, last // turn * turn - 1, last // turn * turn}
        chosen.append([n for n in sorted(near) if 0 <= n <= last])
    combinations = itertools.islice(itertools.product(*chosen), _MOST_POINTS)
    yield from (dict(zip(names, values)) for values in combinations)


def _all_points(
    names: Iterable[str], extents: Mapping[str, int]
) -> Iterator[dict[str, int]]:
    names = list(names)
    for values in itertools.product(*(range(extents[name]) for name in names)):
        yield dict(zip(names, values))


def _constants(expr: IntExpr) -> Iterator[int]:
    if isinstance(expr, int):
        yield expr
    elif isinstance(expr, IntOp):
        for arg in expr.args:
            yield from _constants(arg)
