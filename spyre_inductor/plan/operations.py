"""Uniform access to the names an operation defines and uses.

`index_fields` and `operand_fields` are the one list of where names occur in each operation class;
the verifier, dead code removal, hoisting and the front end all read it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import kernel_plan as kp
from .expr import IntExpr, symbols

# Class -> fields that hold an index expression (or None).
_INDEX_FIELDS: dict[type, tuple[str, ...]] = {
    kp.IndexValue: ("expr",),
    kp.Load: ("index",),
    kp.Store: ("index",),
    kp.CheckBounds: ("lower", "upper"),
    kp.Reduce: ("index",),
    kp.Bucketize: ("boundary_count", "boundary_stride", "sorter_stride"),
}
# Class -> fields that hold one operand, a tuple of operands, or None.
_OPERAND_FIELDS: dict[type, tuple[str, ...]] = {
    kp.Load: ("mask",),
    kp.Compute: ("args",),
    kp.Cast: ("value",),
    kp.CheckBounds: ("value", "mask"),
    kp.Assert: ("condition", "mask"),
    kp.Store: ("value",),
    kp.Reduce: ("args",),
    kp.Scan: ("args",),
    kp.Random: ("args",),
    kp.Bucketize: ("value", "boundary_index", "sorter_index"),
}


def _fields(table: dict[type, tuple[str, ...]], op: kp.Operation) -> tuple[str, ...]:
    for cls in type(op).__mro__:
        if cls in table:
            return table[cls]
    return ()


def results(op: kp.Operation) -> tuple[str, ...]:
    """Names that `op` defines."""
    if isinstance(op, (kp.Reduce, kp.Scan)):
        return op.results
    name = getattr(op, "result", None)
    return () if name is None else (name,)


def operands(op: kp.Operation) -> Iterator[str]:
    """Values that `op` uses directly, masks included; without names inside index expressions."""
    for field in _fields(_OPERAND_FIELDS, op):
        value = getattr(op, field)
        if isinstance(value, tuple):
            yield from value
        elif value is not None:
            yield value


def index_expressions(op: kp.Operation) -> Iterator[Any]:
    """Index expressions of `op`, in field order."""
    for field in _fields(_INDEX_FIELDS, op):
        value = getattr(op, field)
        if value is not None:
            yield value


def uses(
    op: kp.Operation, symbols_of: Callable[[Any], Iterable[str]] = symbols
) -> frozenset[str]:
    """Every name `op` depends on: operands, and the symbols of its index expressions.

    Args:
        symbols_of: names in one index expression, where these are not IntExpr yet.
    """
    used = set(operands(op))
    for expr in index_expressions(op):
        used.update(symbols_of(expr))
    if isinstance(op, kp.Scan):
        inner = set(op.lhs) | set(op.rhs)
        for part in op.combine:
            inner.update(results(part))
        for part in op.combine:
            used |= uses(part, symbols_of) - inner
        used |= set(op.combine_results) - inner
    return frozenset(used)


def has_effect(op: kp.Operation) -> bool:
    """Whether `op` must run even though nobody uses a result of it."""
    return isinstance(op, (kp.Store, kp.CheckBounds, kp.Assert))


def map_indices(op: kp.Operation, fn: Callable[[Any], IntExpr]) -> kp.Operation:
    """`op` with every index expression replaced by `fn(expression)`."""
    changes: dict[str, Any] = {}
    for field in _fields(_INDEX_FIELDS, op):
        value = getattr(op, field)
        if value is not None:
            changes[field] = fn(value)
    if isinstance(op, kp.Scan):
        changes["combine"] = tuple(map_indices(part, fn) for part in op.combine)
    return dataclasses.replace(op, **changes) if changes else op


def map_operands(op: kp.Operation, rename: Callable[[str], str]) -> kp.Operation:
    """`op` with every directly used value name replaced; index expressions are left alone."""
    changes: dict[str, Any] = {}
    for field in _fields(_OPERAND_FIELDS, op):
        value = getattr(op, field)
        if isinstance(value, tuple):
            changes[field] = tuple(rename(name) for name in value)
        elif value is not None:
            changes[field] = rename(value)
    return dataclasses.replace(op, **changes) if changes else op


def without_results(op: kp.Operation) -> kp.Operation:
    """`op` with empty result names: equal for two operations that compute the same."""
    if isinstance(op, (kp.Reduce, kp.Scan)):
        return dataclasses.replace(op, results=("",) * len(op.results))
    if isinstance(op, (kp.CheckBounds, kp.Assert, kp.Store)):
        return op
    return dataclasses.replace(op, result="")
