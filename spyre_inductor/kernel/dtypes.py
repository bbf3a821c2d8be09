"""torch dtypes <-> the dtype names of a plan, and the compute type of each memory type."""

from __future__ import annotations

import torch

from spyre_inductor.errors import UnsupportedError

_COMPUTE_TYPES = frozenset(
    (
        torch.float32,
        torch.float64,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.uint8,
        torch.uint16,
        torch.uint32,
        torch.uint64,
        torch.bool,
    )
)
# Floats that exist in memory only; their arithmetic is float32.
NARROW_FLOATS = frozenset(
    (
        torch.float16,
        torch.bfloat16,
        torch.float8_e4m3fn,
        torch.float8_e5m2,
        torch.float8_e4m3fnuz,
        torch.float8_e5m2fnuz,
        torch.float8_e8m0fnu,
    )
)


def dtype_name(dtype: torch.dtype) -> str:
    """The plan's name of `dtype`: "float32" for torch.float32."""
    return str(dtype).removeprefix("torch.")


def compute_dtype(dtype: torch.dtype) -> torch.dtype:
    """The type in which a value of memory type `dtype` is computed.

    Raises:
        UnsupportedError: for complex, quantized and sub-byte types.
    """
    if dtype in NARROW_FLOATS:
        return torch.float32
    if dtype in _COMPUTE_TYPES:
        return dtype
    raise UnsupportedError(
        f"dtype {dtype}",
        "no kernel computes in it; Inductor should have used a fallback operator",
    )


def is_supported(dtype: torch.dtype) -> bool:
    """Whether a kernel can load and store `dtype`."""
    return dtype in NARROW_FLOATS or dtype in _COMPUTE_TYPES


def is_float(dtype: torch.dtype) -> bool:
    """Whether `dtype` is a real floating point type."""
    return dtype.is_floating_point
