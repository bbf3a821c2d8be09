"""Smallest and largest value of integer and float SSA values, where operations tell.

Needed for indices that are computed rather than read: source = min(floor(i * scale), size - 1).
Bounds are safe, not tight. A float that may be NaN has no bounds. Integers that nothing limits have
those of their type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from . import kernel_plan as kp
from .affine import Range, value_range
from .expr import IntExpr

Bounds = tuple[float, float]  # both ends included; whole numbers are exact ints

# Widens a float result by more than one rounding of float32.
_ROUNDING = 2.0**-22
_WHOLE: dict[str, Callable[[float], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "round": round,
}
_TEST_OPS = frozenset("eq ne lt le gt ge isnan isinf signbit".split())


class ValueBounds:
    """Bounds of the values seen so far; show it the operations in order.

    Args:
        extents: Axes of known extent.
    """

    def __init__(self, extents: Mapping[str, int]) -> None:
        self._axes: dict[str, Range] = {
            n: (0, max(0, e - 1)) for n, e in extents.items()
        }
        self._known: dict[str, Bounds] = {}
        self.checked: set[str] = set()  # values that a CheckBounds has limited

    def visit(self, op: kp.Operation) -> None:
        """Notes what `op` defines or checks."""
        if isinstance(op, kp.CheckBounds):
            self._check(op)
            return
        result = getattr(op, "result", None)
        if result is None:
            return
        bounds = self._of(op)
        if bounds is None:
            bounds = _type_bounds(getattr(op, "dtype", ""))
        if bounds is not None:
            self._known[result] = bounds

    def of_index(self, index: IntExpr) -> Range | None:
        """Range of an index expression over axes and values."""
        whole = {
            name: (int(low), int(high))
            for name, (low, high) in self._known.items()
            if math.isfinite(low) and math.isfinite(high)
        }
        return value_range(index, {**whole, **self._axes})

    def _check(self, op: kp.CheckBounds) -> None:
        if op.lower is None or op.upper is None:
            low, high = self._known.get(op.value, (-math.inf, math.inf))
            complete = op.lower is not None or low >= 0
        else:
            low, high, complete = -math.inf, math.inf, True
        if isinstance(op.lower, int):
            low = max(low, op.lower)
        if isinstance(op.upper, int):
            high = min(high, op.upper - 1)
        if complete:
            self.checked.add(op.value)
        self._known[op.value] = (low, max(low, high))

    def _of(self, op: kp.Operation) -> Bounds | None:
        if isinstance(op, kp.Constant):
            if isinstance(op.value, str):
                return None
            return op.value, op.value
        if isinstance(op, kp.IndexValue):
            return self.of_index(op.expr)
        if isinstance(op, kp.Cast):
            return self._cast(op)
        if isinstance(op, kp.Compute):
            return self._compute(op)
        return None

    def _cast(self, op: kp.Cast) -> Bounds | None:
        known = self._known.get(op.value)
        if known is None or op.bitcast or op.rounds_to is not None:
            return None
        if op.dtype.startswith("float"):
            return _widened(known)
        limits = _type_bounds(op.dtype)
        if limits is None or op.dtype == "bool":
            return limits
        inside = limits[0] <= known[0] and known[1] <= limits[1]
        return (math.trunc(known[0]), math.trunc(known[1])) if inside else limits

    def _compute(self, op: kp.Compute) -> Bounds | None:
        if op.op in _TEST_OPS:
            return 0, 1
        args = op.args[1:] if op.op == "where" else op.args
        known = [self._known.get(name) for name in args]
        if any(bounds is None for bounds in known):
            return None
        result = _combined(op.op, [b for b in known if b is not None])
        if result is None or any(math.isnan(end) for end in result):
            return None
        if op.dtype.startswith("float"):
            return _widened(result)
        limits = _type_bounds(op.dtype)
        wraps = limits is not None and (result[0] < limits[0] or limits[1] < result[1])
        return limits if wraps else result


def _combined(op: str, args: list[Bounds]) -> Bounds | None:
    (low, high), (other_low, other_high) = args[0], args[-1]
    if op == "where":
        return min(low, other_low), max(high, other_high)
    if op == "add":
        return low + other_low, high + other_high
    if op == "sub":
        return low - other_high, high - other_low
    if op == "mul":
        corners = [a * b for a in (low, high) for b in (other_low, other_high)]
        return min(corners), max(corners)
    if op == "maximum":
        return max(low, other_low), max(high, other_high)
    if op == "minimum":
        return min(low, other_low), min(high, other_high)
    if op == "neg":
        return -high, -low
    if op == "abs":
        nearest = 0 if low <= 0 <= high else min(abs(low), abs(high))
        return nearest, max(abs(low), abs(high))
    if op in _WHOLE and math.isfinite(low) and math.isfinite(high):
        return _WHOLE[op](low), _WHOLE[op](high)
    return None


def _widened(bounds: Bounds) -> Bounds:
    low, high = bounds
    whole = float(low).is_integer() and float(high).is_integer()
    if whole and max(-low, high) < 1 << 24:
        return bounds  # exact in float32
    return low - abs(low) * _ROUNDING, high + abs(high) * _ROUNDING


def _type_bounds(dtype: str) -> Bounds | None:
    if dtype == "bool":
        return 0, 1
    signed = dtype.startswith("int")
    if not signed and not dtype.startswith("uint"):
        return None
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
