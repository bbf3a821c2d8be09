"""numpy meaning of Reduce: arrays [..., R] -> [...] over the last dimension."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def reduce(
    kind: str, args: Sequence[np.ndarray], index: np.ndarray | None
) -> tuple[np.ndarray, ...]:
    """Results of one Reduce; float sums are accumulated in float64 and rounded once."""
    if kind in ("argmax", "argmin"):
        assert index is not None
        return (_position(args[0], index, kind == "argmax"),)
    if kind == "welford":
        return _welford_combine(args[0], np.zeros_like(args[0]), np.ones_like(args[0]))
    if kind == "welford_combine":
        return _welford_combine(*args)
    value = args[0]
    wide = value.astype(np.float64) if value.dtype.kind == "f" else value
    if kind == "sum":
        return (wide.sum(axis=-1, dtype=wide.dtype),)
    if kind == "prod":
        return (wide.prod(axis=-1, dtype=wide.dtype),)
    if kind == "max":
        return (value.max(axis=-1),)
    if kind == "min":
        return (value.min(axis=-1),)
    if kind == "any":
        return (value.any(axis=-1),)
    if kind == "xor_sum":
        return (np.bitwise_xor.reduce(value, axis=-1),)
    raise AssertionError(f"unknown reduction {kind}")


def _position(value: np.ndarray, index: np.ndarray, largest: bool) -> np.ndarray:
    if value.dtype.kind == "f":
        key = np.where(np.isnan(value), np.inf, value if largest else -value)
        is_best = np.where(
            np.isnan(value).any(-1, keepdims=True), np.isnan(value), False
        )
        is_best |= ~np.isnan(value).any(-1, keepdims=True) & (
            key == key.max(-1, keepdims=True)
        )
    else:
        best = value.max(-1, keepdims=True) if largest else value.min(-1, keepdims=True)
        is_best = value == best
    return np.where(is_best, index, np.iinfo(np.int64).max).min(axis=-1)


def _welford_combine(
    mean: np.ndarray, m2: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, ...]:
    mean, m2, weight = (a.astype(np.float64) for a in (mean, m2, weight))
    total = weight.sum(-1)
    centre = (mean * weight).sum(-1) / np.where(total == 0, 1, total)
    spread = (m2 + weight * (mean - centre[..., None]) ** 2).sum(-1)
    return centre, spread, total
