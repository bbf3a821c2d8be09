"""Which values have NaNs whose low half is clear, as all NaNs of bfloat16 have.

Arithmetic hands an operand's NaN on, or makes the processor's own, whose low half is clear too.
Such a value is rounded to bfloat16 by adding to its bits, without a test for NaNs.
"""

from __future__ import annotations

from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.plan.operations import results

# Operators that make no NaN but their operands' and the default one; tested on every bfloat16.
ARITHMETIC = frozenset(
    """add sub mul truediv neg abs relu maximum minimum sqrt rsqrt reciprocal sign where copysign
    floor ceil trunc round exp exp2 expm1 log log2 log10 log1p sigmoid tanh erf erfc sin cos
    """.split()
)
_REDUCTIONS = frozenset("sum prod max min welford welford_combine".split())


def clear_nans(plan: kp.KernelPlan) -> frozenset[str]:
    """Names of the float32 values of `plan` that have only such NaNs."""
    memory = {argument.name: argument.dtype for argument in plan.buffers}
    dtypes: dict[str, str] = {}
    clear: set[str] = set()
    for stage in plan.stages:
        for op in stage.ops:
            if _is_clear(op, memory, dtypes, clear):
                clear.update(results(op))
            if isinstance(op, (kp.Load, kp.Compute, kp.Cast, kp.Constant)):
                dtypes[op.result] = op.dtype
    return frozenset(clear)


def _is_clear(
    op: kp.Operation, memory: dict[str, str], dtypes: dict[str, str], clear: set[str]
) -> bool:
    if isinstance(op, kp.Load):
        return memory[op.buffer] == "bfloat16"
    if isinstance(op, (kp.Constant, kp.Random)):
        return op.dtype == "float32"
    if isinstance(op, kp.Cast):
        if op.bitcast or op.dtype != "float32":
            return False
        source = dtypes.get(op.value, "")
        return op.rounds_to == "bfloat16" or (
            bool(source) and not source.startswith("float")
        )
    if isinstance(op, kp.Reduce):
        return op.kind in _REDUCTIONS and all(arg in clear for arg in op.args)
    if not isinstance(op, kp.Compute) or op.dtype != "float32":
        return False
    args = op.args[1:] if op.op == "where" else op.args
    return op.op in ARITHMETIC and all(arg in clear for arg in args)
