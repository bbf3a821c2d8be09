"""How operands are brought to one compute type before an operator is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .dtypes import is_float
from .values import SpyreCSEVariable

_PYTHON_TYPES = {bool: torch.bool, int: torch.int64, float: torch.float32}


def _category(dtype: torch.dtype) -> int:
    if dtype is torch.bool:
        return 0
    return 2 if is_float(dtype) else 1


def common_dtype(args: Sequence[Any]) -> torch.dtype:
    """The compute type in which `args` (values or Python numbers) meet.

    A Python number widens the category (bool < integer < float) but not the width.
    """
    dtypes = [arg.dtype for arg in args if isinstance(arg, SpyreCSEVariable)]
    numbers = [
        _PYTHON_TYPES[type(arg)]
        for arg in args
        if not isinstance(arg, SpyreCSEVariable)
    ]
    if not dtypes:
        dtypes, numbers = numbers, []
    result = dtypes[0]
    for dtype in dtypes[1:]:
        result = _promote(result, dtype)
    for dtype in numbers:
        if _category(dtype) > _category(result):
            result = dtype
    return result


def _promote(left: torch.dtype, right: torch.dtype) -> torch.dtype:
    if left == right:
        return left
    if torch.uint64 in (left, right) and _category(left) == _category(right) == 1:
        return torch.uint64  # torch refuses uint64 with signed; bits are what matters
    try:
        return torch.promote_types(left, right)
    except RuntimeError:
        # uint16/uint32 with another integer: the wider one, signed when sizes are equal.
        widest = max(left, right, key=lambda d: (d.itemsize, d.is_signed))
        return widest


def float_dtype(dtype: torch.dtype) -> torch.dtype:
    """`dtype` if it is a float, else float32 (PyTorch's INT_TO_FLOAT)."""
    return dtype if is_float(dtype) else torch.float32
