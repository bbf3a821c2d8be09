"""Integer index expressions as data.

An expression is an int, a symbol (the name of an axis, of a scalar argument, or of an int64 SSA
value for indirect indexing), or an IntOp tree. Division and modulo are Python's (floor).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
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


def substitute(expr: IntExpr, names: Mapping[str, IntExpr]) -> IntExpr:
    """`expr` with every symbol in `names` replaced, all at once."""
    if isinstance(expr, str):
        return names.get(expr, expr)
    if isinstance(expr, int):
        return expr
    return IntOp(expr.op, tuple(substitute(arg, names) for arg in expr.args))


def evaluate(expr: IntExpr, values: Mapping[str, int]) -> int:
    """Value of `expr`; comparisons and logic give 0 or 1.

    Raises:
        KeyError: a symbol has no value.
        ZeroDivisionError: as Python.
    """
    if isinstance(expr, str):
        return values[expr]
    if isinstance(expr, int):
        return expr
    args = [evaluate(arg, values) for arg in expr.args]
    return int(_EVALUATED[expr.op](*args))


_EVALUATED: dict[str, Callable[..., int]] = {
    "add": lambda *args: sum(args),
    "mul": lambda *args: math.prod(args),
    "min": min,
    "max": max,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "ceildiv": lambda a, b: -(-a // b),
    "pow": lambda a, b: a**b,
    "lshift": lambda a, b: a << b,
    "rshift": lambda a, b: a >> b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "and": lambda *args: all(args),
    "or": lambda *args: any(args),
    "where": lambda c, a, b: a if c else b,
}


def add(*terms: IntExpr) -> IntExpr:
    """Sum without zeros; constants are folded."""
    constant = sum(t for t in terms if isinstance(t, int))
    rest: list[IntExpr] = [t for t in terms if not isinstance(t, int)]
    if constant or not rest:
        rest.append(constant)
    return rest[0] if len(rest) == 1 else IntOp("add", tuple(rest))


def mul(*factors: IntExpr) -> IntExpr:
    """Product without ones; constants are folded."""
    constant = math.prod(f for f in factors if isinstance(f, int))
    rest: list[IntExpr] = [f for f in factors if not isinstance(f, int)]
    if constant == 0 or not rest:
        return constant
    if constant != 1:
        rest.insert(0, constant)
    return rest[0] if len(rest) == 1 else IntOp("mul", tuple(rest))
