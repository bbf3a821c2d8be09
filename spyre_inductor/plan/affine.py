"""Ranges and linear forms of index expressions over axes of known extent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .expr import IntExpr, IntOp

Range = tuple[int, int]  # both ends included


def value_range(expr: IntExpr, ranges: Mapping[str, Range]) -> Range | None:
    """Smallest and largest value of `expr`, or None when a symbol's range is unknown.

    The bounds are safe, not always tight: each operand varies on its own.
    """
    if isinstance(expr, int):
        return expr, expr
    if isinstance(expr, str):
        return ranges.get(expr)
    parts = [value_range(arg, ranges) for arg in expr.args]
    if any(part is None for part in parts):
        return None
    known = [part for part in parts if part is not None]
    if expr.op == "add":
        return sum(low for low, _ in known), sum(high for _, high in known)
    if expr.op == "mul":
        result = known[0]
        for other in known[1:]:
            corners = [a * b for a in result for b in other]
            result = min(corners), max(corners)
        return result
    if expr.op in ("min", "max"):
        pick = min if expr.op == "min" else max
        return pick(low for low, _ in known), pick(high for _, high in known)
    return _division_range(expr, known)


def _division_range(expr: IntOp, known: list[Range]) -> Range | None:
    if expr.op not in ("floordiv", "mod", "ceildiv"):
        return None
    (low, high), (divisor, largest_divisor) = known
    if divisor != largest_divisor or divisor <= 0:
        return None
    if expr.op == "floordiv":
        return low // divisor, high // divisor
    if expr.op == "ceildiv":
        return -(-low // divisor), -(-high // divisor)
    if low >= 0 and high < divisor:
        return low, high
    return 0, divisor - 1


@dataclass(frozen=True)
class Linear:
    """constant + sum of coefficient * symbol."""

    constant: int
    coefficients: dict[str, int]


def linear_form(expr: IntExpr) -> Linear | None:
    """`expr` as a linear form with integer coefficients, or None when it is not one."""
    if isinstance(expr, int):
        return Linear(expr, {})
    if isinstance(expr, str):
        return Linear(0, {expr: 1})
    if expr.op not in ("add", "mul"):
        return None
    forms = [linear_form(arg) for arg in expr.args]
    if any(form is None for form in forms):
        return None
    known = [form for form in forms if form is not None]
    return _sum(known) if expr.op == "add" else _product(known)


def _sum(forms: list[Linear]) -> Linear:
    coefficients: dict[str, int] = {}
    for form in forms:
        for name, value in form.coefficients.items():
            coefficients[name] = coefficients.get(name, 0) + value
    return Linear(sum(form.constant for form in forms), coefficients)


def _product(forms: list[Linear]) -> Linear | None:
    scale = 1
    rest = None
    for form in forms:
        if not form.coefficients:
            scale *= form.constant
        elif rest is None:
            rest = form
        else:
            return None
    if rest is None:
        return Linear(scale, {})
    return Linear(
        scale * rest.constant, {n: scale * c for n, c in rest.coefficients.items()}
    )


def is_injective(form: Linear, extents: Mapping[str, int]) -> bool:
    """Whether no two points of the axes `extents` give the same value.

    Sufficient and, for the nested strides of dense buffers, necessary: sorted by stride, each axis
    must step over everything that the finer axes reach.
    """
    steps = []
    for name, extent in extents.items():
        if extent > 1:
            steps.append((abs(form.coefficients.get(name, 0)), extent))
    reach = 0
    for step, extent in sorted(steps):
        if step <= reach:
            return False
        reach += step * (extent - 1)
    return True
