"""Where divisions and modulos inside index expressions cut the range-tree entries they divide.

After a pointwise node was given the ranges of a reduction (group norm: rows of groups, weights per
channel), its indices divide the row's position: (256*x + r) // 64 % 16. Along each piece of 64
points that index stands still. Cutting r there turns the division into an axis, so that lanes load
or broadcast instead of gathering.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import sympy
from torch.utils._sympy.functions import FloorDiv, ModularIndexing

# Lanes run along the innermost piece: a shorter one would leave most of them empty.
_SHORTEST_PIECE = 16


def index_cuts(
    expressions: Iterable[Any], entries: Mapping[sympy.Symbol, Any]
) -> dict[str, set[int]]:
    """Cut points that make divisions vanish, by tree prefix, in points of the flat range.

    Args:
        expressions: Index expressions over the symbols of `entries`.
        entries: Range-tree entries (divisor, length, root) by symbol.
    """
    cuts: dict[str, set[int]] = {}
    for expression in expressions:
        for part in sympy.sympify(expression).atoms(FloorDiv, ModularIndexing):
            for entry, position in _cuts_of(part, entries):
                cuts.setdefault(entry.root.prefix, set()).add(position)
    return cuts


def _cuts_of(
    part: sympy.Expr, entries: Mapping[sympy.Symbol, Any]
) -> Iterator[tuple[Any, int]]:
    base, divisor, *modulus = part.args
    steps = [divisor] + [divisor * m for m in modulus]
    if not all(step.is_Integer for step in steps):
        return
    coefficients = base.as_coefficients_dict()
    for symbol, coefficient in coefficients.items():
        entry = entries.get(symbol)
        if not sympy.sympify(coefficient).is_Integer:
            return
        if entry is None:
            if symbol != 1 or coefficient % divisor != 0:
                return  # an offset or a loaded index moves the boundaries
            continue
        if not all(sympy.sympify(n).is_Integer for n in (entry.divisor, entry.length)):
            continue
        for step in steps:
            size, rest = divmod(int(step), int(coefficient))
            if rest == 0 and 1 < size < int(entry.length):
                position = size * int(entry.divisor)
                if position >= _SHORTEST_PIECE:
                    yield entry, position
