"""Range-tree entries -> the loop axes of a plan.

Inductor gives each index expression its own way of cutting a flat range (a tree) into entries
(divisor, length). When all cuts used divide one another they are cuts of one nest of loops, and
every entry is a linear combination of the nest's axes. Otherwise the tree stays one flat axis and
its entries are computed from it with division and modulo.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sympy
from torch._inductor.utils import sympy_index_symbol, sympy_subs
from torch._inductor.virtualized import V
from torch.utils._sympy.functions import FloorDiv


@dataclass(frozen=True)
class TreeAxes:
    """Axes of one tree, outermost first, and what each used entry becomes in terms of them."""

    names: tuple[str, ...]
    extents: tuple[sympy.Expr, ...]
    replacements: dict[sympy.Symbol, sympy.Expr]


def axes_of_tree(
    tree: Any,
    entries: Iterable[Any],
    name_prefix: str,
    first_number: int,
    index_cuts: Iterable[int] = (),
) -> TreeAxes:
    """Axes for `tree` (an IterationRangesRoot), of which the indices use `entries`.

    Args:
        index_cuts: Further cut points (index_cuts.py), taken when all of them nest.
    """
    entries = list(entries)
    cuts = _nested_cuts(tree, entries, index_cuts)
    if cuts is None:
        cuts = _nested_cuts(tree, entries)
    if cuts is None:
        return _flat_axis(tree, entries, f"{name_prefix}{first_number}")
    count = len(cuts) - 1
    names = [f"{name_prefix}{first_number + i}" for i in range(count)]
    # cuts ascend, so the last pair is the outermost axis.
    outer_first = list(range(count - 1, -1, -1))
    name_of_cut = dict(zip(outer_first, names))
    extents = tuple(_quotient(cuts[i + 1], cuts[i]) for i in outer_first)
    replacements = {}
    for entry in entries:
        low = _position(cuts, entry.divisor)
        high = _position(cuts, entry.divisor * entry.length)
        terms = [
            sympy_index_symbol(name_of_cut[i]) * _quotient(cuts[i], cuts[low])
            for i in range(low, high)
        ]
        replacements[entry.symbol()] = sympy.Add(*terms)
    return TreeAxes(tuple(names), extents, replacements)


def _flat_axis(tree: Any, entries: list[Any], name: str) -> TreeAxes:
    axis = sympy_index_symbol(name)
    replacements = {
        entry.symbol(): sympy_subs(entry.expr, {tree.index_sym(): axis})
        for entry in entries
    }
    return TreeAxes((name,), (tree.numel,), replacements)


def _quotient(number: sympy.Expr, divisor: sympy.Expr) -> sympy.Expr:
    return V.graph.sizevars.simplify(FloorDiv(number, divisor))


def _equal(left: sympy.Expr, right: sympy.Expr) -> bool:
    return V.graph.sizevars.statically_known_equals(left, right)


def _position(cuts: list[sympy.Expr], value: sympy.Expr) -> int:
    return next(i for i, cut in enumerate(cuts) if _equal(cut, value))


def _nested_cuts(
    tree: Any, entries: list[Any], index_cuts: Iterable[int] = ()
) -> list[sympy.Expr] | None:
    """Ascending cut points 1 .. numel, each dividing the next; None when they do not nest."""
    sizevars = V.graph.sizevars
    cuts: list[sympy.Expr] = []
    candidates = [sympy.S.One, tree.numel, *index_cuts]
    for entry in entries:
        candidates += [entry.divisor, entry.divisor * entry.length]
    for candidate in candidates:
        if not any(_equal(candidate, cut) for cut in cuts):
            cuts.append(sympy.sympify(candidate))
    cuts.sort(key=lambda cut: sizevars.optimization_hint(cut, fallback=8192))
    if not _equal(cuts[0], sympy.S.One) or not _equal(cuts[-1], tree.numel):
        return None
    for low, high in itertools.pairwise(cuts):
        if not sizevars.statically_known_multiple_of(high, low):
            return None
    return cuts
