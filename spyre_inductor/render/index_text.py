"""Index expressions as C++ text, and how they depend on the lane.

`affine_stride` tells how far apart two neighbouring lanes are; an expression that is not affine
in the lane axis is printed for one lane at a time.
"""

from __future__ import annotations

from collections.abc import Callable

from spyre_inductor.errors import PlanError
from spyre_inductor.plan.expr import INT_OPS, IntExpr, IntOp, symbols

# Binding strength of what is printed: a sum, a product, anything that needs no parentheses.
_SUM, _PRODUCT, _ATOM = 0, 1, 2

_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<="}
Rename = Callable[[str], str]


def index_text(expr: IntExpr, rename: Rename = lambda name: name) -> str:
    """`expr` as C++ of type i64; `rename` spells a symbol."""
    return _print(expr, rename)[0]


def factor_text(expr: IntExpr, rename: Rename = lambda name: name) -> str:
    """As index_text, in parentheses unless it is a single term."""
    text, strength = _print(expr, rename)
    return text if strength == _ATOM else f"({text})"


def _print(expr: IntExpr, rename: Rename) -> tuple[str, int]:
    if isinstance(expr, bool):
        return ("1" if expr else "0"), _ATOM
    if isinstance(expr, int):
        return _integer(expr)
    if isinstance(expr, str):
        return rename(expr), _ATOM
    if expr.op not in INT_OPS:
        raise PlanError(f"index expression has unknown operator {expr.op!r}")
    return _print_op(expr, rename)


def _integer(value: int) -> tuple[str, int]:
    text = f"{value}LL" if abs(value) > 2**31 - 1 else str(value)
    if value == -(2**63):
        text = "(-9223372036854775807LL - 1)"
    return text, (_ATOM if value >= 0 else _SUM)


def _print_op(expr: IntOp, rename: Rename) -> tuple[str, int]:
    args = [_print(arg, rename) for arg in expr.args]
    plain = [text for text, _ in args]
    if expr.op == "add":
        return " + ".join(plain), _SUM
    if expr.op == "mul":
        return " * ".join(t if s >= _PRODUCT else f"({t})" for t, s in args), _PRODUCT
    tight = [t if s == _ATOM else f"({t})" for t, s in args]
    if expr.op in ("floordiv", "mod") and is_natural(expr):
        return f"{tight[0]} {'/' if expr.op == 'floordiv' else '%'} {tight[1]}", _SUM
    if expr.op in _COMPARE:
        return f"i64({tight[0]} {_COMPARE[expr.op]} {tight[1]})", _ATOM
    if expr.op in ("and", "or"):
        return "i64(" + (" && " if expr.op == "and" else " || ").join(
            tight
        ) + ")", _ATOM
    if expr.op == "where":
        return f"({tight[0]} ? {plain[1]} : {plain[2]})", _ATOM
    if expr.op in ("min", "max"):
        return _fold("least" if expr.op == "min" else "most", plain), _ATOM
    return f"index_{expr.op}({', '.join(plain)})", _ATOM


def _fold(function: str, args: list[str]) -> str:
    text = args[0]
    for arg in args[1:]:
        text = f"{function}({text}, {arg})"
    return text


def is_natural(expr: IntExpr) -> bool:
    """True when C++'s truncating `/` and `%` surely agree with Python's.

    Axis names (x0, r0_1, ...) count up from 0; sizes and loaded values may be negative.
    """
    if isinstance(expr, int):
        return expr >= 0
    if isinstance(expr, str):
        return expr[:1] in "xyzr" and expr[1:].replace("_", "").isdigit()
    if expr.op in ("floordiv", "mod"):
        divisor = expr.args[1]
        return is_natural(expr.args[0]) and isinstance(divisor, int) and divisor > 0
    return expr.op in ("add", "mul", "min", "max") and all(map(is_natural, expr.args))


def affine_stride(expr: IntExpr, axis: str) -> IntExpr | None:
    """Elements from one point of `axis` to the next; None when that is not one number."""
    if axis not in symbols(expr):
        return 0
    if expr == axis:
        return 1
    assert isinstance(expr, IntOp)
    if expr.op == "add":
        parts = [affine_stride(arg, axis) for arg in expr.args]
        if any(part is None for part in parts):
            return None
        return _sum([part for part in parts if part is not None and part != 0])
    if expr.op == "mul":
        inside = [arg for arg in expr.args if axis in symbols(arg)]
        if len(inside) != 1:
            return None
        stride = affine_stride(inside[0], axis)
        rest = [arg for arg in expr.args if arg is not inside[0]]
        return None if stride is None else product([stride, *rest])
    return None


def _sum(terms: list[IntExpr]) -> IntExpr:
    constant = sum(term for term in terms if isinstance(term, int))
    rest = [term for term in terms if not isinstance(term, int)]
    if not rest:
        return constant
    every = rest if constant == 0 else [*rest, constant]
    return every[0] if len(every) == 1 else IntOp("add", tuple(every))


def product(factors: list[IntExpr]) -> IntExpr:
    """Product with the constants folded."""
    constant = 1
    rest: list[IntExpr] = []
    for factor in factors:
        if isinstance(factor, int):
            constant *= factor
        else:
            rest.append(factor)
    if constant == 0 or not rest:
        return constant
    every = rest if constant == 1 else [*rest, constant]
    return every[0] if len(every) == 1 else IntOp("mul", tuple(every))
