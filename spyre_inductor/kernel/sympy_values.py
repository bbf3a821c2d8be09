"""sympy expressions as values: integer parts become IndexValue, float parts Compute."""

from __future__ import annotations

from typing import Any

import sympy
import torch
from torch.utils._sympy import functions as tf
from torch.utils._sympy.symbol import SymT, symbol_is_type

from spyre_inductor.errors import UnsupportedError
from spyre_inductor.plan.kernel_plan import Compute, IndexValue

from .dtypes import dtype_name
from .indexing import to_int_expr
from .values import SpyreCSEVariable

# sympy class -> (operator, type it computes in)
_FLOAT_OPS: dict[Any, str] = {
    tf.FloatTrueDiv: "truediv",
    tf.IntTrueDiv: "truediv",
    tf.FloatPow: "pow",
    tf.TruncToFloat: "trunc",
}
_TO_INT: dict[Any, str] = {
    tf.FloorToInt: "floor",
    sympy.floor: "floor",
    tf.CeilToInt: "ceil",
    sympy.ceiling: "ceil",
    tf.TruncToInt: "trunc",
    tf.RoundToInt: "round",
}
_FOLDED: dict[Any, str] = {
    sympy.Add: "add",
    sympy.Mul: "mul",
    tf.Min: "minimum",
    tf.Max: "maximum",
    sympy.Min: "minimum",
    sympy.Max: "maximum",
}


def record_sympy(kernel: Any, expr: sympy.Expr) -> SpyreCSEVariable:
    """Records `expr` in `kernel`; integer expressions give int64, others float64."""
    if _is_integer(expr):
        return kernel.record(IndexValue("", expr, "int64"), torch.int64)
    return _float_value(kernel, expr)


def _is_integer(expr: sympy.Expr) -> bool:
    """Whether to_int_expr can convert `expr` (float scalars make it a float expression)."""
    if any(symbol_is_type(s, SymT.UNBACKED_FLOAT) for s in expr.free_symbols):
        return False
    try:
        to_int_expr(expr)
    except UnsupportedError:
        return False
    return True


def _float_value(kernel: Any, expr: sympy.Expr) -> SpyreCSEVariable:
    double = torch.float64
    if expr.is_number and not expr.free_symbols:
        return kernel.constant(float(expr), double)
    if isinstance(expr, sympy.Symbol):
        return kernel.record(IndexValue("", expr, "float64"), double)
    if expr.func in (tf.ToFloat, tf.Identity):
        return kernel.as_dtype(record_sympy(kernel, expr.args[0]), double)
    if expr.func in _TO_INT:
        whole = _compute(kernel, _TO_INT[expr.func], expr.args)
        return kernel.as_dtype(whole, torch.int64)
    if expr.func in _FLOAT_OPS:
        return _compute(kernel, _FLOAT_OPS[expr.func], expr.args)
    if expr.func is sympy.Pow:
        return _compute(kernel, "pow", expr.args)
    if expr.func in _FOLDED:
        value = kernel.as_dtype(record_sympy(kernel, expr.args[0]), double)
        for arg in expr.args[1:]:
            other = kernel.as_dtype(record_sympy(kernel, arg), double)
            value = _binary(kernel, _FOLDED[expr.func], value, other)
        return value
    name = getattr(expr.func, "__name__", "")
    if name.startswith("OpaqueUnaryFn_"):
        return _compute(kernel, name.removeprefix("OpaqueUnaryFn_"), expr.args)
    raise UnsupportedError(f"size expression {expr}", f"{name} has no plan form")


def _compute(kernel: Any, op: str, args: tuple[sympy.Expr, ...]) -> SpyreCSEVariable:
    values = [kernel.as_dtype(record_sympy(kernel, arg), torch.float64) for arg in args]
    names = tuple(value.name for value in values)
    return kernel.record(
        Compute("", op, names, dtype_name(torch.float64)), torch.float64
    )


def _binary(kernel: Any, op: str, left: Any, right: Any) -> SpyreCSEVariable:
    names = (left.name, right.name)
    return kernel.record(Compute("", op, names, "float64"), torch.float64)
