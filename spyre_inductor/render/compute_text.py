"""How each Compute operator is spelled in C++: one row per operator of plan.op_table.

`{0}`, `{1}`, `{2}` are the operands. Operators and functions are overloaded for scalars and lanes;
where the two need different text, a row has both. Operands have the types of plan.op_table's
rules, so nothing is converted here.
"""

from __future__ import annotations

from dataclasses import dataclass

from spyre_inductor.errors import PlanError
from spyre_inductor.plan.op_table import COMPUTE_OPS

from .cpp_types import FLOATS


@dataclass(frozen=True)
class Spelling:
    """Text for scalars and for lanes, and the header that declares it (None: kernel.h)."""

    scalar: str
    lanes: str
    header: str | None = None


def _same(text: str, header: str | None = None) -> Spelling:
    return Spelling(text, text, header)


_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
    "logical_and": "&", "logical_or": "|", "logical_xor": "^",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
_FUNCTIONS = {
    "maximum": "maximum({0}, {1})", "minimum": "minimum({0}, {1})",
    "abs": "abs({0})", "sign": "sign({0})", "relu": "relu({0})",
    "sqrt": "sqrt({0})", "rsqrt": "rsqrt({0})", "reciprocal": "reciprocal({0})",
    "floor": "floor({0})", "ceil": "ceil({0})", "trunc": "trunc({0})", "round": "round({0})",
    "copysign": "copysign({0}, {1})", "fma": "fma({0}, {1}, {2})",
    "isnan": "isnan({0})", "isinf": "isinf({0})", "signbit": "signbit({0})",
    "where": "where({0}, {1}, {2})",
}  # fmt: skip
# Functions of one, two or three operands, by the header that declares them.
_BY_HEADER = {
    "exponential.h": "exp exp2 expm1 sigmoid tanh",
    "logarithm.h": "log log2 log10 log1p",
    "error_function.h": "erf erfc",
    "trigonometry.h": "sin cos tan",
    "libm.h": "sinh cosh asin acos atan asinh acosh atanh lgamma atan2 hypot nextafter fmod "
    "remainder pow ldexp frexp_mantissa frexp_exponent",
    "special.h": "digamma zeta polygamma igamma igammac i0 i0e i1 i1e erfinv ndtri ndtr "
    "log_ndtr erfcx airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 spherical_bessel_j0 "
    "modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 "
    "scaled_modified_bessel_k0 scaled_modified_bessel_k1 chebyshev_polynomial_t "
    "chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w "
    "shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u "
    "shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w hermite_polynomial_h "
    "hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p",
}

# Headers that have float32 only; the float64 functions are in libm.h.
_FLOAT32_HEADERS = frozenset(
    ("exponential.h", "logarithm.h", "error_function.h", "trigonometry.h")
)
_OPERANDS = {1: "{0}", 2: "{0}, {1}", 3: "{0}, {1}, {2}"}

_INTEGER_FUNCTIONS = {
    "floordiv": "floordiv({0}, {1})", "truncdiv": "truncdiv({0}, {1})", "mod": "c_mod({0}, {1})",
    "bitwise_left_shift": "shift_left({0}, {1})",
    "bitwise_right_shift": "shift_right({0}, {1})",
}  # fmt: skip

SPELLINGS: dict[str, Spelling] = {
    **{op: _same(f"{{0}} {sign} {{1}}") for op, sign in _OPERATORS.items()},
    **{op: _same(text) for op, text in _FUNCTIONS.items()},
    **{op: _same(text, "integers.h") for op, text in _INTEGER_FUNCTIONS.items()},
    **{
        op: _same(f"{op}({_OPERANDS[COMPUTE_OPS[op][0]]})", header)
        for header, names in _BY_HEADER.items()
        for op in names.split()
    },
    "neg": _same("-{0}"),
    "bitwise_not": _same("~{0}"),
    "logical_not": Spelling("!{0}", "~{0}"),
}


def spelling(op: str, dtype: str) -> Spelling:
    """Spelling of `op` whose result is `dtype`; raises PlanError for an unknown operator."""
    if op not in SPELLINGS:
        known = (
            "is known to the plan but has"
            if op in COMPUTE_OPS
            else "is unknown and has"
        )
        raise PlanError(
            f"Compute operator {op!r} {known} no C++ spelling (dtype {dtype})"
        )
    found = SPELLINGS[op]
    if found.header in _FLOAT32_HEADERS and dtype == "float64":
        return Spelling(found.scalar, found.lanes, "libm.h")
    if op in ("remainder", "fmod") and dtype not in FLOATS:
        return Spelling(found.scalar, found.lanes, "integers.h")
    return found
