"""Inductor's reduction types -> Reduce operations."""

from __future__ import annotations

from typing import Any

import torch
from torch._inductor.virtualized import OpsWrapper, ops

from spyre_inductor.errors import UnsupportedError
from spyre_inductor.plan.kernel_plan import Reduce

from .dtypes import compute_dtype, dtype_name
from .values import SpyreCSEVariable

_PLAIN = {"sum", "prod", "max", "min", "any", "xor_sum"}
_POSITION = {"argmax", "argmin"}
_WELFORD = {"welford_reduce": "welford", "welford_combine": "welford_combine"}


def record_reduction(
    kernel: Any, dtype: torch.dtype, kind: str, value: Any
) -> SpyreCSEVariable | tuple[SpyreCSEVariable, ...]:
    """Records the reduction `kind` of `value` (a tuple for several operands).

    Returns:
        The result, or the three of a Welford reduction (mean, m2, weight).

    Raises:
        UnsupportedError: for reduction types that need another backend's machinery.
    """
    if kernel._load_mask is not None:
        raise UnsupportedError(f"reduction {kind}", "it stands inside a masked block")
    if kind == "online_softmax_reduce":
        return kernel.prepare_softmax_twopass_fallback(dtype, value)
    if kind in _WELFORD:
        return _welford(kernel, dtype, _WELFORD[kind], value)
    if kind in _POSITION:
        return _position(kernel, kind, value)
    if kind in _PLAIN:
        return _plain(kernel, dtype, kind, value)
    raise UnsupportedError(f"reduction {kind}", "it has no plan form")


def _plain(kernel: Any, dtype: torch.dtype, kind: str, value: Any) -> SpyreCSEVariable:
    accumulator = compute_dtype(dtype)
    if kind == "any":
        accumulator = torch.bool
    if accumulator is torch.bool and kind in ("max", "sum"):
        kind = "any"
    if accumulator is torch.bool and kind in ("min", "prod"):
        negated = OpsWrapper._unwrap(ops.logical_not(value))
        found = _plain(kernel, torch.bool, "any", negated)
        return OpsWrapper._unwrap(ops.logical_not(found))
    operand = kernel.as_dtype(value, accumulator)
    op = Reduce(("",), kind, (operand.name,), (dtype_name(accumulator),))
    (result,) = kernel.record_reduce(op, [accumulator])
    return kernel.as_dtype(result, compute_dtype(dtype))


def _position(kernel: Any, kind: str, value: Any) -> SpyreCSEVariable:
    if isinstance(value, tuple):
        value, position = value
        index = kernel.symbol_of(kernel.as_dtype(position, torch.int64))
    else:
        index = kernel.prepare_indexing(kernel.reduction_position())
    if value.dtype is torch.bool:
        value = kernel.as_dtype(value, torch.uint8)
    op = Reduce(("",), kind, (value.name,), ("int64",), index)
    (result,) = kernel.record_reduce(op, [torch.int64])
    return result


def _welford(
    kernel: Any, dtype: torch.dtype, kind: str, value: Any
) -> tuple[SpyreCSEVariable, ...]:
    accumulator = compute_dtype(dtype)
    values = value if isinstance(value, tuple) else (value,)
    names = tuple(kernel.as_dtype(v, accumulator).name for v in values)
    op = Reduce(("",) * 3, kind, names, (dtype_name(accumulator),) * 3)
    return kernel.record_reduce(op, [accumulator] * 3)
