"""numpy (and torch, for special functions) meaning of Compute, Cast and memory conversions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

NARROW = (
    "float16",
    "bfloat16",
    *tuple(
        f"float8_{kind}"
        for kind in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu")
    ),
)


def store_cast(value: np.ndarray, memory: str) -> np.ndarray:
    """`value` rounded to memory type `memory`; narrow floats come back as float32."""
    if memory in NARROW:
        tensor = torch.from_numpy(np.ascontiguousarray(value, dtype=np.float32))
        return tensor.to(getattr(torch, memory)).float().numpy().reshape(value.shape)
    return cast(value, memory)


def cast(value: np.ndarray, dtype: str) -> np.ndarray:
    """C-like conversion; to bool it is != 0."""
    if dtype == "bool":
        return value != 0
    return np.asarray(value).astype(dtype)


def bitcast(value: np.ndarray, source: str, target: str) -> np.ndarray:
    """Bits of memory type `source` read as memory type `target` (compute-typed result)."""
    tensor = torch.from_numpy(np.ascontiguousarray(value)).to(getattr(torch, source))
    result = tensor.view(getattr(torch, target))
    if target in NARROW:
        result = result.float()
    return result.numpy().reshape(value.shape)


def _tensors(args: Sequence[np.ndarray]) -> list[torch.Tensor]:
    return [torch.from_numpy(np.array(a)) for a in np.broadcast_arrays(*args)]


def _by_torch(function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    return lambda *args: function(*_tensors(args)).numpy()


def _safe_division(function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        zero = b == 0
        return np.where(zero, 0, function(a, np.where(zero, 1, b)))

    return divide


def _remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if np.issubdtype(a.dtype, np.floating):
        return torch.remainder(*_tensors((a, b))).numpy()
    return _safe_division(np.remainder)(a, b)


def _shift_left(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    width = a.dtype.itemsize * 8
    bad = (b < 0) | (b >= width)
    return np.where(bad, 0, np.left_shift(a, np.where(bad, 0, b)))


def _shift_right(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    width = a.dtype.itemsize * 8
    bad = (b < 0) | (b >= width)
    return np.right_shift(a, np.where(bad, np.asarray(width - 1, b.dtype), b))


def _integer_pow(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return torch.pow(*_tensors((a, b))).numpy()


_SPECIAL = {
    name: getattr(torch.special, name, None) or getattr(torch, name)
    for name in """erf erfc erfinv erfcx digamma i0 i0e i1 i1e log_ndtr ndtr ndtri airy_ai
    bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1
    modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1
    spherical_bessel_j0 chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v
    chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l
    legendre_polynomial_p shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u
    shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w zeta""".split()
}
_TORCH_NAMED = """exp exp2 expm1 sqrt rsqrt reciprocal cos sin tan cosh sinh tanh acos asin atan
acosh asinh atanh lgamma log log2 log10 log1p sigmoid floor ceil trunc round atan2 copysign
hypot nextafter igamma igammac maximum minimum fmod abs sign relu logical_not isnan isinf
signbit""".split()

_OPS: dict[str, Callable[..., Any]] = {
    **{name: _by_torch(fn) for name, fn in _SPECIAL.items()},
    **{name: _by_torch(getattr(torch, name)) for name in _TORCH_NAMED},
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.divide,
    "neg": np.negative,
    "pow": _integer_pow,
    "fma": lambda a, b, c: a * b + c,
    "remainder": _remainder,
    "floordiv": _safe_division(np.floor_divide),
    "truncdiv": _safe_division(
        lambda a, b: torch.div(*_tensors((a, b)), rounding_mode="trunc").numpy()
    ),
    "mod": _safe_division(lambda a, b: np.fmod(a, b)),
    "ldexp": lambda a, b: np.ldexp(a, b),
    "frexp_mantissa": lambda a: np.frexp(a)[0],
    "frexp_exponent": lambda a: np.frexp(a)[1],
    "polygamma": lambda n, x: torch.polygamma(
        int(np.asarray(n).flat[0]), _tensors((x,))[0]
    ).numpy(),
    "bitwise_not": np.invert,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_left_shift": _shift_left,
    "bitwise_right_shift": _shift_right,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "where": np.where,
}


def compute(op: str, args: Sequence[np.ndarray], dtype: str) -> np.ndarray:
    """Applies a Compute operator; the result has exactly `dtype` or an error is raised."""
    result = np.asarray(_OPS[op](*args))
    if result.dtype != np.dtype(dtype):
        kinds = {np.dtype(a.dtype).kind for a in map(np.asarray, args)}
        assert result.dtype.kind == np.dtype(dtype).kind or "b" in kinds, (
            f"{op}: numpy gives {result.dtype}, the plan says {dtype}"
        )
        result = result.astype(dtype)
    return result
