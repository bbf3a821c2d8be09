"""Integer index expressions as data.

An expression is an int, a symbol (the name of an axis, of a scalar argument, or of an int64 SSA
value for indirect indexing), or an IntOp tree. Division and modulo are Python's (floor).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

IntExpr = Union[int, str, "IntOp"]

# op -> number of arguments (None: two or more)
INT_OPS: dict[str, int | None] = {
    "add": None,
    "mul": None,
    "min": None,
    "max": None,
    "floordiv": 2,
    "mod": 2,
    "ceildiv": 2,
    "pow": 2,
    "lshift": 2,
    "rshift": 2,
    "eq": 2,
    "ne": 2,
    "lt": 2,
    "le": 2,
    "and": None,
    "or": None,
    "where": 3,
}


@dataclass(frozen=True)
class IntOp:
    """One node of an index expression; `op` is a key of INT_OPS."""

    op: str
    args: tuple[IntExpr, ...]


def symbols(expr: IntExpr) -> frozenset[str]:
    """Names that the expression depends on."""
    if isinstance(expr, str):
        return frozenset((expr,))
    if isinstance(expr, int):
        return frozenset()
    return frozenset().union(*(symbols(arg) for arg in expr.args))
