"""Every Compute operator a plan may hold, its arity and how its operands are typed.

The kernel front end inserts all casts, so a renderer never promotes: operands have exactly the
types that the operator's rule names. Rules (T = type of the result):

- float:   T is float32 or float64; every operand is T.
- same:    T is any type but bool; every operand is T.
- integer: T is an integer type; every operand is T.
- bits:    T is an integer type or bool; every operand is T.
- compare: the result is bool; all operands share one type (any, bool included).
- test:    the result is bool; the one operand is float32 or float64 (signbit: or integer).
- logical: the result and all operands are bool.
- where:   operand 0 is bool; operands 1 and 2 are T (any type, bool included).
- ldexp:   T and operand 0 are one float type; operand 1 is int32.
- exponent: the result is int32; the operand is float32 or float64.
- polynomial: as float; operand 1 (the order) is also T.

Semantics where C++ and Python differ. `floordiv` rounds to minus infinity, `truncdiv` to zero,
`mod` and `fmod` take the sign of operand 0, `remainder` that of operand 1. Integer arithmetic
wraps at its own width; an integer division by zero must not trap (its value is 0). `maximum` and
`minimum` give NaN when either operand is NaN. `round` is half to even. Shifts by a count outside
[0, width) give 0, or the sign for an arithmetic right shift.
"""

from __future__ import annotations

_FLOAT_1 = """
exp exp2 expm1 sqrt rsqrt reciprocal cos sin tan cosh sinh tanh acos asin atan acosh asinh atanh
erf erfc erfinv erfcx lgamma digamma log log2 log10 log1p sigmoid floor ceil trunc round
frexp_mantissa airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 i0 i0e i1 i1e log_ndtr ndtr ndtri
modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1
scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0
""".split()
_FLOAT_2 = (
    "truediv atan2 copysign hypot nextafter igamma igammac zeta polygamma".split()
)
_POLYNOMIALS = """
chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w
shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
shifted_chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he
laguerre_polynomial_l legendre_polynomial_p
""".split()

# operator -> (number of operands, typing rule)
COMPUTE_OPS: dict[str, tuple[int, str]] = {
    **{name: (1, "float") for name in _FLOAT_1},
    **{name: (2, "float") for name in _FLOAT_2},
    **{name: (2, "polynomial") for name in _POLYNOMIALS},
    **{name: (1, "same") for name in ("abs", "neg", "sign", "relu")},
    **{
        name: (2, "same")
        for name in "add sub mul pow maximum minimum fmod remainder".split()
    },
    "fma": (3, "float"),
    "ldexp": (2, "ldexp"),
    "frexp_exponent": (1, "exponent"),
    **{name: (2, "integer") for name in ("floordiv", "truncdiv", "mod")},
    "bitwise_not": (1, "integer"),
    **{name: (2, "bits") for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    **{name: (2, "integer") for name in ("bitwise_left_shift", "bitwise_right_shift")},
    **{name: (2, "compare") for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{name: (1, "test") for name in ("isnan", "isinf", "signbit")},
    "logical_not": (1, "logical"),
    **{name: (2, "logical") for name in ("logical_and", "logical_or", "logical_xor")},
    "where": (3, "where"),
}
