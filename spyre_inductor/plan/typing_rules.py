"""Checks the types of Compute operands against op_table."""

from __future__ import annotations

from collections.abc import Sequence

from .op_table import COMPUTE_OPS

FLOATS = frozenset(("float32", "float64"))
INTEGERS = frozenset(
    ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
)
COMPUTE_TYPES = FLOATS | INTEGERS | {"bool"}


def typing_error(op: str, operands: Sequence[str], result: str) -> str | None:
    """What is wrong with `op` on operands of these types, or None."""
    arity, rule = COMPUTE_OPS[op]
    if len(operands) != arity:
        return f"takes {arity} operands, has {len(operands)}"
    if result not in COMPUTE_TYPES:
        return f"gives {result}, which is not a compute type"
    expected = _expected(rule, operands, result)
    if expected is None:
        return f"cannot give {result}"
    if tuple(operands) != expected:
        return f"needs operands {expected}, has {tuple(operands)}"
    return None


def _expected(
    rule: str, operands: Sequence[str], result: str
) -> tuple[str, ...] | None:
    """Operand types that `rule` demands for this result, or None if the result is wrong."""
    same = (result,) * len(operands)
    allowed = {
        "float": FLOATS,
        "polynomial": FLOATS,
        "same": COMPUTE_TYPES - {"bool"},
        "integer": INTEGERS,
        "bits": INTEGERS | {"bool"},
        "logical": {"bool"},
    }
    if rule in allowed:
        return same if result in allowed[rule] else None
    if rule == "compare":
        return (operands[0],) * 2 if result == "bool" else None
    if rule == "test":
        good = operands[0] in FLOATS | INTEGERS
        return tuple(operands) if result == "bool" and good else None
    if rule == "where":
        return ("bool", result, result)
    if rule == "ldexp":
        return (result, "int32") if result in FLOATS else None
    if rule == "exponent":
        good = operands[0] in FLOATS
        return tuple(operands) if result == "int32" and good else None
    raise AssertionError(f"unknown typing rule {rule}")
