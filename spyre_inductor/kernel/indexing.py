"""sympy index expressions -> IntExpr."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
from torch.utils._sympy import functions as tf

from spyre_inductor.errors import UnsupportedError
from spyre_inductor.plan.expr import IntExpr, IntOp

_BINARY: dict[Any, str] = {
    tf.FloorDiv: "floordiv",
    tf.CleanDiv: "floordiv",
    tf.CeilDiv: "ceildiv",
    tf.Mod: "mod",
    tf.PythonMod: "mod",
    sympy.Mod: "mod",
    tf.PowByNatural: "pow",
    tf.LShift: "lshift",
    tf.RShift: "rshift",
    sympy.Eq: "eq",
    sympy.Ne: "ne",
    sympy.StrictLessThan: "lt",
    sympy.LessThan: "le",
}
_NARY: dict[Any, str] = {
    sympy.Add: "add",
    tf.Min: "min",
    tf.Max: "max",
    sympy.Min: "min",
    sympy.Max: "max",
    sympy.And: "and",
    sympy.Or: "or",
}
# Roundings of float arithmetic: a plan has none on indices.
HOST_ONLY = (tf.TruncToInt, tf.RoundToInt, tf.FloorToInt, tf.CeilToInt)


def to_int_expr(expr: sympy.Expr | int) -> IntExpr:
    """Converts an integer (or boolean) sympy expression.

    Raises:
        UnsupportedError: when a node is not integer arithmetic that a plan can hold.
    """
    if isinstance(expr, int):
        return int(expr)
    if expr.is_Integer:
        return int(expr)
    if isinstance(expr, sympy.Symbol):
        return expr.name
    if expr is sympy.true or expr is sympy.false:
        return int(bool(expr))
    handler = _HANDLERS.get(expr.func)
    if handler is not None:
        return handler(expr)
    if expr.func in _BINARY:
        left, right = expr.args
        return IntOp(_BINARY[expr.func], (to_int_expr(left), to_int_expr(right)))
    if expr.func in _NARY:
        return IntOp(_NARY[expr.func], tuple(to_int_expr(arg) for arg in expr.args))
    raise UnsupportedError(
        f"index expression {expr}", f"{expr.func.__name__} is not integer arithmetic"
    )


def _modular_indexing(expr: sympy.Expr) -> IntExpr:
    base, divisor, modulus = expr.args
    quotient = to_int_expr(base)
    if divisor != 1:
        quotient = IntOp("floordiv", (quotient, to_int_expr(divisor)))
    return IntOp("mod", (quotient, to_int_expr(modulus)))


def _mul(expr: sympy.Expr) -> IntExpr:
    numerator, denominator = expr.as_numer_denom()
    if denominator != 1:
        # A quotient that sympy knows to be whole, such as 2*s0*(s1/2).
        parts = (to_int_expr(numerator), to_int_expr(denominator))
        return IntOp("floordiv", parts)
    return IntOp("mul", tuple(to_int_expr(arg) for arg in expr.args))


def _pow(expr: sympy.Expr) -> IntExpr:
    base, exponent = expr.args
    if not (exponent.is_integer and exponent.is_nonnegative):
        raise UnsupportedError(f"index expression {expr}", "exponent may be negative")
    return IntOp("pow", (to_int_expr(base), to_int_expr(exponent)))


def _floor(expr: sympy.Expr) -> IntExpr:
    (arg,) = expr.args
    if isinstance(arg, (tf.IntTrueDiv, tf.FloatTrueDiv)):
        return IntOp("floordiv", tuple(to_int_expr(a) for a in arg.args))
    if arg.is_integer:
        return to_int_expr(arg)
    numerator, denominator = sympy.together(arg).as_numer_denom()
    return IntOp("floordiv", (to_int_expr(numerator), to_int_expr(denominator)))


def _ceiling(expr: sympy.Expr) -> IntExpr:
    (arg,) = expr.args
    if isinstance(arg, (tf.IntTrueDiv, tf.FloatTrueDiv)):
        return IntOp("ceildiv", tuple(to_int_expr(a) for a in arg.args))
    if arg.is_integer:
        return to_int_expr(arg)
    numerator, denominator = sympy.together(arg).as_numer_denom()
    return IntOp("ceildiv", (to_int_expr(numerator), to_int_expr(denominator)))


def _where(expr: sympy.Expr) -> IntExpr:
    return IntOp("where", tuple(to_int_expr(arg) for arg in expr.args))


def _piecewise(expr: sympy.Expr) -> IntExpr:
    value, condition = expr.args[-1]
    if condition != sympy.true:
        raise UnsupportedError(f"index expression {expr}", "it has no default branch")
    result = to_int_expr(value)
    for value, condition in reversed(expr.args[:-1]):
        result = IntOp("where", (to_int_expr(condition), to_int_expr(value), result))
    return result


def _swapped(op: str) -> Callable[[sympy.Expr], IntExpr]:
    def convert(expr: sympy.Expr) -> IntExpr:
        left, right = expr.args
        return IntOp(op, (to_int_expr(right), to_int_expr(left)))

    return convert


def _not(expr: sympy.Expr) -> IntExpr:
    return IntOp("eq", (to_int_expr(expr.args[0]), 0))


def _abs(expr: sympy.Expr) -> IntExpr:
    value = to_int_expr(expr.args[0])
    return IntOp("max", (value, IntOp("mul", (-1, value))))


def _same(expr: sympy.Expr) -> IntExpr:
    return to_int_expr(expr.args[0])


_HANDLERS: dict[Any, Callable[[sympy.Expr], IntExpr]] = {
    tf.ModularIndexing: _modular_indexing,
    tf.Where: _where,
    tf.Identity: _same,
    tf.FloorToInt: _floor,
    tf.CeilToInt: _ceiling,
    sympy.floor: _floor,
    sympy.ceiling: _ceiling,
    sympy.Mul: _mul,
    sympy.Pow: _pow,
    sympy.Piecewise: _piecewise,
    sympy.Abs: _abs,
    sympy.Not: _not,
    sympy.StrictGreaterThan: _swapped("lt"),
    sympy.GreaterThan: _swapped("le"),
}
