"""C++ names of the plan's dtypes: in memory, as a scalar, and in lanes."""

from __future__ import annotations

import re
from collections.abc import Collection

from spyre_inductor.errors import PlanError

# Memory type in a buffer -> type of the pointer.
MEMORY_TYPES: dict[str, str] = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2",
    "float8_e4m3fnuz": "f8e4m3fnuz",
    "float8_e5m2fnuz": "f8e5m2fnuz",
    "float8_e8m0fnu": "f8e8m0fnu",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint64": "u64",
    "uint32": "u32",
    "uint16": "u16",
    "uint8": "u8",
    "bool": "bool8",
}
# Compute type of an SSA value -> scalar type.
SCALAR_TYPES: dict[str, str] = {
    name: spelled
    for name, spelled in MEMORY_TYPES.items()
    if name not in ("float16", "bfloat16") and not name.startswith("float8")
} | {"bool": "bool"}

FLOATS = frozenset(("float32", "float64"))
# Order of promotion when an operator gets operands of two dtypes.
_RANK = (
    ("bool", 0),
    ("uint8", 1),
    ("int8", 2),
    ("uint16", 3),
    ("int16", 4),
    ("uint32", 5),
    ("int32", 6),
    ("uint64", 7),
    ("int64", 8),
    ("float32", 9),
    ("float64", 10),
)
RANK: dict[str, int] = dict(_RANK)


def memory_type(dtype: str) -> str:
    """Pointer element type; raises PlanError for a dtype no kernel can hold."""
    try:
        return MEMORY_TYPES[dtype]
    except KeyError:
        raise PlanError(
            f"no kernel memory type for dtype {dtype!r}; known: {', '.join(MEMORY_TYPES)}"
        ) from None


def memory_headers(dtypes: Collection[str]) -> set[str]:
    """Headers that know how these memory types are loaded and stored."""
    names = {"float16": "float16.h", "bfloat16": "bfloat16.h"}
    found = {names[dtype] for dtype in dtypes if dtype in names}
    if any(dtype.startswith("float8") for dtype in dtypes):
        found.add("float8.h")
    return found


def itemsize(dtype: str) -> int:
    """Bytes of one element in memory."""
    digits = re.search(r"[0-9]+", dtype)
    return int(digits[0]) // 8 if digits else 1


def scalar_type(dtype: str) -> str:
    """Scalar compute type; raises PlanError for memory-only dtypes."""
    try:
        return SCALAR_TYPES[dtype]
    except KeyError:
        raise PlanError(
            f"dtype {dtype!r} cannot be computed in; compute types: {', '.join(SCALAR_TYPES)}"
        ) from None


def lane_type(dtype: str) -> str:
    """Type of 16 lanes of `dtype`."""
    scalar = scalar_type(dtype)
    return "Mask" if scalar == "bool" else f"{scalar}v"


def compute_dtype(memory_dtype: str) -> str:
    """What a load of `memory_dtype` gives."""
    return memory_dtype if memory_dtype in SCALAR_TYPES else "float32"


def promoted(dtypes: tuple[str, ...]) -> str:
    """The one dtype that operands of several dtypes are brought to."""
    return max(dtypes, key=lambda dtype: RANK[dtype])


def literal(value: int | float | bool | str, dtype: str) -> str:
    """A C++ literal of compute type `dtype`; non-finite floats arrive as strings."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtype in FLOATS:
        return _float_literal(float(value), dtype)
    number = int(value)
    if number == -(2**63):
        return "(-9223372036854775807LL - 1)"
    suffix = {"int64": "LL", "uint64": "ULL", "uint32": "U"}.get(dtype, "")
    return f"{number}{suffix}" if abs(number) > 2**31 - 1 else str(number)


def _float_literal(value: float, dtype: str) -> str:
    bits = "32" if dtype == "float32" else "64"
    if value != value:
        return f"kNan{bits}"
    if value in (float("inf"), float("-inf")):
        return f"-kInf{bits}" if value < 0 else f"kInf{bits}"
    if dtype == "float32" and abs(value) >= 3.4028235677973366e38:
        return "-kInf32" if value < 0 else "kInf32"
    return repr(value) + ("f" if dtype == "float32" else "")
