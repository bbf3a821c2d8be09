"""SpyreOverrides: Inductor's operator handler that answers with plan operations, not text.

Every operator of plan.op_table gets a method made from its typing rule; the others are written
out. A method records its operation through `V.kernel` and returns the value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
import torch
from torch._inductor.codegen.common import OpOverrides
from torch._inductor.ops_handler import OP_NAMES
from torch._inductor.utils import sympy_index_symbol
from torch._inductor.virtualized import V

from spyre_inductor.errors import UnsupportedError
from spyre_inductor.plan.kernel_plan import Cast, Compute, Random
from spyre_inductor.plan.op_table import COMPUTE_OPS

from .dtypes import NARROW_FLOATS, compute_dtype, dtype_name
from .promotion import common_dtype, float_dtype
from .sympy_values import record_sympy
from .values import SpyreCSEVariable

# Handler operators with another name in the plan.
ALIASES: dict[str, str] = {
    "and_": "bitwise_and",
    "or_": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "div_rn": "truediv",
    "mul_rn": "mul",
    "gammainc": "igamma",
    "gammaincc": "igammac",
}
# What arithmetic means on booleans; a plan has no arithmetic on them.
_BOOL_FORM: dict[str, str] = {
    "add": "logical_or",
    "mul": "logical_and",
    "maximum": "logical_or",
    "minimum": "logical_and",
    "sub": "logical_xor",
    "bitwise_and": "logical_and",
    "bitwise_or": "logical_or",
    "bitwise_xor": "logical_xor",
    "bitwise_not": "logical_not",
}
# The divisions of integers, and what a launch says when a divisor is zero.
_DIVISIONS = frozenset(("floordiv", "truncdiv", "mod", "remainder", "fmod"))
_ZERO_DIVISION = "ZeroDivisionError: an integer is divided by zero"
# Operators that no graph for this device contains, with the reason.
UNREACHABLE: dict[str, str] = {
    "halide_clamp": "only the Halide backend calls it",
    "dot": "only Triton's native matmul calls it (config.triton.native_matmul)",
    "inline_asm_elementwise": "it embeds PTX assembly",
    "rand_eager": "it reproduces CUDA's thread layout",
    "partial_accumulate": "mixed-order reductions are a Triton feature",
    "output": "it exists during analysis only",
    "placeholder": "it exists during analysis only",
}


def _compute(
    op: str, args: tuple[Any, ...], operand: torch.dtype, result: torch.dtype
) -> SpyreCSEVariable:
    names = tuple(V.kernel.as_dtype(arg, operand).name for arg in args)
    return V.kernel.record(Compute("", op, names, dtype_name(result)), result)


def _record_float(op: str, args: tuple[Any, ...]) -> SpyreCSEVariable:
    dtype = float_dtype(common_dtype(args))
    return _compute(op, args, dtype, dtype)


def _record_same(op: str, args: tuple[Any, ...]) -> SpyreCSEVariable:
    dtype = common_dtype(args)
    if dtype is torch.bool:
        if op in _BOOL_FORM:
            return _compute(_BOOL_FORM[op], args, torch.bool, torch.bool)
        if op in ("abs", "sign", "relu"):
            return args[0]
        dtype = torch.int64
    if op in _DIVISIONS and not dtype.is_floating_point:
        _check_divisor(args[1], dtype)
    return _compute(op, args, dtype, dtype)


def _check_divisor(divisor: Any, dtype: torch.dtype) -> None:
    """An integer divided by zero has no value: the launch fails, as CPU eager raises."""
    value = V.kernel.as_dtype(divisor, dtype)
    if not value.literal:
        nonzero = _compute("ne", (value, 0), dtype, torch.bool)
        V.kernel.device_assert_async(nonzero, _ZERO_DIVISION)


def _record_integer(op: str, args: tuple[Any, ...]) -> SpyreCSEVariable:
    dtype = common_dtype(args)
    if dtype is torch.bool:
        if op in _BOOL_FORM:
            return _compute(_BOOL_FORM[op], args, torch.bool, torch.bool)
        dtype = torch.int64
    if dtype.is_floating_point:
        if op in _FLOAT_FORM:
            return _FLOAT_FORM[op](args)
        raise UnsupportedError(op, f"operands of type {dtype}; it is for integers only")
    if op in _DIVISIONS:
        _check_divisor(args[1], dtype)
    return _compute(op, args, dtype, dtype)


def _record_compare(op: str, args: tuple[Any, ...]) -> SpyreCSEVariable:
    return _compute(op, args, common_dtype(args), torch.bool)


def _record_test(op: str, args: tuple[Any, ...]) -> SpyreCSEVariable:
    (value,) = args
    if isinstance(value, SpyreCSEVariable) and not value.dtype.is_floating_point:
        if op == "signbit":
            return _compute("lt", (value, 0), value.dtype, torch.bool)
        return V.kernel.constant(False, torch.bool)
    return _compute(op, args, common_dtype(args), torch.bool)


def _record_logical(op: str, args: tuple[Any, ...]) -> SpyreCSEVariable:
    return _compute(op, args, torch.bool, torch.bool)


def _record_where(op: str, args: tuple[Any, ...]) -> SpyreCSEVariable:
    condition, when_true, when_false = args
    dtype = common_dtype((when_true, when_false))
    names = (
        V.kernel.as_dtype(condition, torch.bool).name,
        V.kernel.as_dtype(when_true, dtype).name,
        V.kernel.as_dtype(when_false, dtype).name,
    )
    return V.kernel.record(Compute("", "where", names, dtype_name(dtype)), dtype)


def _record_ldexp(op: str, args: tuple[Any, ...]) -> SpyreCSEVariable:
    value, exponent = args
    dtype = float_dtype(common_dtype((value,)))
    names = (
        V.kernel.as_dtype(value, dtype).name,
        V.kernel.as_dtype(exponent, torch.int32).name,
    )
    return V.kernel.record(Compute("", "ldexp", names, dtype_name(dtype)), dtype)


def _record_exponent(op: str, args: tuple[Any, ...]) -> SpyreCSEVariable:
    return _compute(op, args, float_dtype(common_dtype(args)), torch.int32)


_RECORDERS: dict[str, Callable[[str, tuple[Any, ...]], SpyreCSEVariable]] = {
    "float": _record_float,
    "polynomial": _record_float,
    "same": _record_same,
    "integer": _record_integer,
    "bits": _record_integer,
    "compare": _record_compare,
    "test": _record_test,
    "logical": _record_logical,
    "where": _record_where,
    "ldexp": _record_ldexp,
    "exponent": _record_exponent,
}
# The integer-only operators that Inductor also calls on floats.
_FLOAT_FORM: dict[str, Callable[[tuple[Any, ...]], SpyreCSEVariable]] = {
    "mod": lambda args: _record_same("fmod", args),
    "truncdiv": lambda args: _record_float("trunc", (_record_float("truediv", args),)),
    "floordiv": lambda args: _record_float("floor", (_record_float("truediv", args),)),
}


class SpyreOverrides(OpOverrides):
    """Answers each operator with the value of a recorded plan operation."""

    @staticmethod
    def constant(value: Any, dtype: torch.dtype) -> SpyreCSEVariable:
        return V.kernel.constant(value, compute_dtype(dtype))

    @staticmethod
    def identity(x: SpyreCSEVariable) -> SpyreCSEVariable:
        return x

    @staticmethod
    def square(x: SpyreCSEVariable) -> SpyreCSEVariable:
        return _record_same("mul", (x, x))

    @staticmethod
    def floor(x: SpyreCSEVariable) -> SpyreCSEVariable:
        return x if _is_integral(x) else _record_float("floor", (x,))

    @staticmethod
    def ceil(x: SpyreCSEVariable) -> SpyreCSEVariable:
        return x if _is_integral(x) else _record_float("ceil", (x,))

    @staticmethod
    def trunc(x: SpyreCSEVariable) -> SpyreCSEVariable:
        return x if _is_integral(x) else _record_float("trunc", (x,))

    @staticmethod
    def round(x: SpyreCSEVariable) -> SpyreCSEVariable:
        return x if _is_integral(x) else _record_float("round", (x,))

    @staticmethod
    def to_dtype(
        x: SpyreCSEVariable,
        dtype: torch.dtype,
        src_dtype: torch.dtype | None = None,
        use_compute_types: bool = True,
    ) -> SpyreCSEVariable:
        target = compute_dtype(dtype)
        if src_dtype in NARROW_FLOATS and not target.is_floating_point:
            # Truncation sees what eager mode would have stored.
            x = _rounded(x, src_dtype)
        value = V.kernel.convert(x, target)
        if dtype in NARROW_FLOATS and src_dtype != dtype:
            return _rounded(value, dtype)
        return value

    @staticmethod
    def to_dtype_bitcast(
        x: SpyreCSEVariable, dtype: torch.dtype, src_dtype: torch.dtype
    ) -> SpyreCSEVariable:
        value = V.kernel.as_dtype(x, compute_dtype(src_dtype))
        target = compute_dtype(dtype)
        op = Cast(
            "",
            value.name,
            dtype_name(target),
            bitcast=True,
            from_memory=dtype_name(src_dtype),
            to_memory=dtype_name(dtype),
        )
        return V.kernel.record(op, target)

    @staticmethod
    def int_truediv(a: Any, b: Any) -> SpyreCSEVariable:
        # Through float64, as Python does for integers below 2**53.
        wide = _compute("truediv", (a, b), torch.float64, torch.float64)
        return V.kernel.as_dtype(wide, torch.float32)

    @staticmethod
    def frexp(x: SpyreCSEVariable) -> tuple[SpyreCSEVariable, SpyreCSEVariable]:
        mantissa = _record_float("frexp_mantissa", (x,))
        return mantissa, _record_exponent("frexp_exponent", (x,))

    @staticmethod
    def index_expr(expr: sympy.Expr, dtype: torch.dtype) -> SpyreCSEVariable:
        value = record_sympy(V.kernel, V.kernel.prepare_indexing(expr))
        if dtype in (torch.int32, torch.int64):
            return value  # index arithmetic stays 64 bits wide
        return V.kernel.convert(value, compute_dtype(dtype))

    @staticmethod
    def value_expr(expr: sympy.Expr, dtype: torch.dtype) -> SpyreCSEVariable:
        value = record_sympy(V.kernel, V.kernel.prepare_indexing(expr))
        return V.kernel.convert(value, compute_dtype(dtype))

    @staticmethod
    def masked(mask: Any, body: Callable[[], Any], other: Any) -> SpyreCSEVariable:
        with V.kernel.mask_loads(mask, other) as combined:
            result = body()
        result = getattr(result, "value", result)
        return _record_where("where", (combined, result, _typed(other, result.dtype)))

    def indirect_indexing(
        self,
        var: SpyreCSEVariable,
        size: sympy.Expr | int,
        check: bool = True,
        wrap_neg: bool = True,
    ) -> sympy.Symbol:
        index = V.kernel.as_dtype(var, torch.int64)
        return sympy_index_symbol(index.name)

    @staticmethod
    def load_seed(name: str, offset: Any) -> SpyreCSEVariable:
        return V.kernel.load(name, sympy.sympify(offset))

    @staticmethod
    def rand(seed: Any, offset: Any) -> SpyreCSEVariable:
        return _random("rand", (seed, offset), torch.float32)

    @staticmethod
    def randn(seed: Any, offset: Any) -> SpyreCSEVariable:
        return _random("randn", (seed, offset), torch.float32)

    @staticmethod
    def randint64(seed: Any, offset: Any, low: Any, high: Any) -> SpyreCSEVariable:
        return _random("randint64", (seed, offset, low, high), torch.int64)


def _rounded(x: SpyreCSEVariable, dtype: torch.dtype) -> SpyreCSEVariable:
    """`x` rounded to the narrow float `dtype`, as float32."""
    value = V.kernel.as_dtype(x, torch.float32)
    if value.exact_in == dtype:
        return value
    op = Cast("", value.name, "float32", rounds_to=dtype_name(dtype))
    result = V.kernel.record(op, torch.float32)
    result.exact_in = dtype
    return result


def _is_integral(x: Any) -> bool:
    return isinstance(x, SpyreCSEVariable) and not x.dtype.is_floating_point


def _typed(value: Any, dtype: torch.dtype) -> SpyreCSEVariable:
    if isinstance(value, SpyreCSEVariable):
        return V.kernel.as_dtype(value, dtype)
    return V.kernel.constant(value, dtype)


def _random(kind: str, args: tuple[Any, ...], dtype: torch.dtype) -> SpyreCSEVariable:
    names = tuple(V.kernel.as_dtype(arg, torch.int64).name for arg in args)
    return V.kernel.record(Random("", kind, names, dtype_name(dtype)), dtype)


def _method(op: str) -> Callable[..., SpyreCSEVariable]:
    record = _RECORDERS[COMPUTE_OPS[op][1]]

    def method(*args: Any) -> SpyreCSEVariable:
        return record(op, args)

    return method


def _unreachable(op: str) -> Callable[..., Any]:
    def method(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(op, UNREACHABLE[op])

    return method


def _install_methods() -> None:
    written = set(vars(SpyreOverrides))
    for name in OP_NAMES:
        op = ALIASES.get(name, name)
        if op in COMPUTE_OPS and name not in written:
            method = _method(op)
        elif name in UNREACHABLE:
            method = _unreachable(name)
        else:
            continue
        method.__name__ = name
        setattr(SpyreOverrides, name, staticmethod(method))


_install_methods()
