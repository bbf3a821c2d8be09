"""Costly values that a later reduction loop computes again are kept in LX instead.

Works by value numbering: two operations of different loops with equal operands are the same value.
A value is staged when recomputing it takes a costly operator or more than one load; one load alone
is cheaper read again, since its row is still in cache.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from spyre_inductor.plan.kernel_plan import (
    Cast,
    Compute,
    Constant,
    IndexValue,
    Load,
    LoopStage,
    Operation,
    Random,
    Stage,
)
from spyre_inductor.plan.operations import (
    map_operands,
    operands,
    results,
    without_results,
)

from .dead_code import symbol_names

_COSTLY = frozenset(
    """exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh asin acos atan asinh acosh
    atanh erf erfc erfinv sigmoid pow atan2 hypot lgamma digamma rsqrt sqrt truediv fmod remainder
    floordiv truncdiv mod igamma igammac zeta polygamma""".split()
)
_PURE = (Constant, IndexValue, Load, Compute, Cast, Random)


@dataclasses.dataclass(frozen=True)
class Restaged:
    """Stages that use earlier loops' values, and the names of those values."""

    stages: list[Stage]
    staged: tuple[str, ...]


def stage_costly_values(
    stages: Sequence[Stage],
    written: set[str],
    in_lx: Sequence[str],
    room: int,
    along: Collection[str] = (),
) -> Restaged:
    """Replaces costly recomputation in later loops by values of earlier ones.

    Args:
        written: buffers that the kernel stores to; loads of them are not compared.
        in_lx: values that are kept in LX already: later loops use them for nothing.
        room: how many more values fit LX.
        along: reduction axes, where a second load counts as costly.
    """
    first: dict[Operation, str] = {}
    canonical: dict[str, str] = {}
    cost: dict[str, bool] = {}
    reads: dict[str, frozenset[Operation]] = {}
    home: dict[str, int] = {}
    staged: list[str] = []
    result: list[Stage] = []
    for number, stage in enumerate(stages):
        loop = isinstance(stage, LoopStage)
        renamed: dict[str, str] = {}
        ops: list[Operation] = []
        for op in stage.ops:
            names = results(op)
            if loop and len(names) == 1 and _is_comparable(op, written):
                name = names[0]
                key = map_operands(without_results(op), lambda n: canonical.get(n, n))
                known = first.setdefault(key, name)
                canonical[name] = canonical.get(known, known)
                reads[name] = _rows_read(op, key, reads, along)
                cost[name] = (
                    _is_costly(op)
                    or len(reads[name]) > 1
                    or any(cost.get(n, False) for n in operands(op))
                )
                home.setdefault(known, number)
                if (cost[name] or known in in_lx) and home[known] < number:
                    renamed[name] = known
            ops.append(op)
        roots = _roots(ops, renamed) if loop else []
        for name in roots:
            source = renamed[name]
            if source not in (*staged, *in_lx) and len(staged) < room:
                staged.append(source)
        kept = (*staged, *in_lx)
        usable = {n: s for n, s in renamed.items() if s in kept and n in roots}
        result.append(_renamed(stage, usable))
    return Restaged(result, tuple(staged))


def _renamed(stage: Stage, names: dict[str, str]) -> Stage:
    ops = tuple(map_operands(op, lambda n: names.get(n, n)) for op in stage.ops)
    return dataclasses.replace(stage, ops=ops)


def _is_comparable(op: Operation, written: set[str]) -> bool:
    if isinstance(op, Load) and op.buffer in written:
        return False
    return isinstance(op, _PURE)


def _is_costly(op: Operation) -> bool:
    return isinstance(op, Random) or (isinstance(op, Compute) and op.op in _COSTLY)


def _rows_read(
    op: Operation,
    key: Operation,
    reads: dict[str, frozenset[Operation]],
    along: Collection[str],
) -> frozenset[Operation]:
    """Loads behind a value that differ along the axes `along`; `key` is its value number."""
    if isinstance(op, Load):
        varies = any(name in along for name in symbol_names(op.index))
        return frozenset((key,)) if varies else frozenset()
    found: frozenset[Operation] = frozenset()
    return found.union(*(reads.get(name, frozenset()) for name in operands(op)))


def _roots(ops: Sequence[Operation], renamed: dict[str, str]) -> list[str]:
    """Renamed values that something other than a renamed value uses, in order."""
    roots: list[str] = []
    for op in ops:
        if any(name in renamed for name in results(op)):
            continue
        for name in operands(op):
            if name in renamed and name not in roots:
                roots.append(name)
    return roots
