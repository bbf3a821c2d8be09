"""Which loop over lanes of spyre_kernels/loops.h a body runs in.

Where every position comes in whole steps of 16 lanes there is no remainder to write code for; a
long body with a remainder runs masked throughout, because two copies of it cost compile time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.plan.expr import IntExpr

from .compute_text import spelling

LANES = 16
# Steps that a reduction keeps apart (kParts of loops.h).
_PARTS = 4


def is_whole(extent: IntExpr) -> bool:
    """Whether `extent` points are surely a number of whole steps of lanes."""
    return isinstance(extent, int) and extent % LANES == 0


def has_whole_lanes(plan: kp.KernelPlan) -> bool:
    """Whether the parallel lane axis of `plan` is walked in whole steps, on every core."""
    for axis in plan.axes:
        if axis.name == plan.lane_axis:
            divided = axis.name in plan.division.axes
            return is_whole(axis.extent) and (
                not divided or is_whole(plan.division.grain)
            )
    return False


def lane_loop(
    whole: bool, heavy: bool, paired: Collection[kp.Store] | None = None
) -> str:
    """Name of the loop for a body without partial results.

    Args:
        paired: the stores of lanes in pairs of steps.
    """
    if paired is not None:
        return f"for_paired_lanes<{max(1, len(paired))}>"
    if whole:
        return "for_whole_lanes"
    return "for_masked_lanes" if heavy else "for_lanes"


def reducing_loop(extent: IntExpr, paired: Collection[kp.Store] | None = None) -> str:
    """Name of the loop that gives its body the number of a partial result."""
    if paired is not None:
        return f"reduce_paired_lanes<{max(1, len(paired))}>"
    whole = isinstance(extent, int) and extent % (_PARTS * LANES) == 0
    return "reduce_whole_lanes" if whole else "reduce_lanes"


# Weight of a body above which its own latency hides that of the accumulator; unrolling it would
# only cost compile time.
_HEAVY = 8
_WEIGHTS = {
    "exp": 8,
    "tanh": 12,
    "erf": 12,
    "log": 8,
    "sigmoid": 8,
    "sin": 12,
    "cos": 12,
    "bitwise_left_shift": 1,
    "bitwise_right_shift": 1,
}
_OTHER_FUNCTION = 8


def is_heavy(ops: Iterable[kp.Operation]) -> bool:
    """Whether one step of `ops` is long enough to go without partial results."""
    weight = 0
    for op in ops:
        if isinstance(op, kp.Compute):
            has_header = spelling(op.op, op.dtype).header is not None
            weight += _WEIGHTS.get(op.op, _OTHER_FUNCTION if has_header else 1)
        elif isinstance(op, (kp.Random, kp.Scan, kp.Bucketize)):
            weight += _HEAVY
        elif isinstance(op, kp.Reduce) and op.index is not None:
            weight += _HEAVY // 2
    return weight >= _HEAVY
