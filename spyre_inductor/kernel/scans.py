"""Inductor's associative scans -> Scan operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._inductor.virtualized import OpsWrapper

from spyre_inductor.errors import UnsupportedError
from spyre_inductor.plan.kernel_plan import Compute, Scan

from .dtypes import compute_dtype, dtype_name
from .values import IN_LOOP, SpyreCSEVariable

_NAMED = {"add": "sum", "mul": "prod", "maximum": "max", "minimum": "min"}


def record_scan(
    kernel: Any,
    dtypes: tuple[torch.dtype, ...],
    combine_fn: Callable[..., Any],
    values: tuple[Any, ...],
) -> tuple[SpyreCSEVariable, ...]:
    """Records an inclusive scan along the reduction axis.

    A combine function that is one known operator gives a named kind, others a region.
    """
    if kernel._load_mask is not None:
        raise UnsupportedError("scan", "it stands inside a masked block")
    types = [compute_dtype(dtype) for dtype in dtypes]
    args = tuple(kernel.as_dtype(v, t).name for v, t in zip(values, types))
    lhs = _region_arguments(kernel, types)
    rhs = _region_arguments(kernel, types)
    outer = kernel.cse
    kernel.cse = outer.scoped_copy()
    try:
        with kernel.recorder.region() as region:
            combined = OpsWrapper._unwrap(combine_fn(lhs, rhs))
            combined = [kernel.as_dtype(v, t).name for v, t in zip(combined, types)]
    finally:
        kernel.cse = outer
    names = tuple(dtype_name(t) for t in types)
    op = Scan(("",) * len(types), _kind(region, lhs, rhs, combined), args, names)
    if op.kind == "region":
        op = Scan(
            op.results,
            "region",
            args,
            names,
            tuple(v.name for v in lhs),
            tuple(v.name for v in rhs),
            tuple(region),
            tuple(combined),
        )
    return kernel.record_scan_op(op, types)


def _region_arguments(
    kernel: Any, types: list[torch.dtype]
) -> tuple[SpyreCSEVariable, ...]:
    arguments = tuple(kernel.cse.newvar(dtype=dtype) for dtype in types)
    for argument in arguments:
        argument.place = IN_LOOP
    return arguments


def _kind(region: list[Any], lhs: Any, rhs: Any, combined: list[str]) -> str:
    if len(region) != 1 or len(lhs) != 1 or not isinstance(region[0], Compute):
        return "region"
    (op,) = region
    if set(op.args) != {lhs[0].name, rhs[0].name} or combined != [op.result]:
        return "region"
    return _NAMED.get(op.op, "region")
