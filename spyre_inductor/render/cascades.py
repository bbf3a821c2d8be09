"""Which reductions run in blocks of points, so that their rounding error stays that of a tree.

A running sum of n points is wrong by about n roundings. Long ones are cut into blocks, whose sums
are summed in blocks again (spyre_kernels/cascade.h): 8 roundings per power of 8.
"""

from __future__ import annotations

from spyre_inductor.plan import kernel_plan as kp

from . import cpp_types

# Points that one partial result takes without blocks: of 4 x 16, of 16, of one lane.
_SHORT_PARTS, _SHORT_LANES, _SHORT_POINTS = 2048, 1024, 16
# The constants of cascade.h: points of a block by the work of a step, and of one whose end takes
# divisions; kRowGroup (loops.h), kRadix, kCascadeLevels.
_BLOCKS = {"kBlock": 1024, "kHeavyBlock": 256, "kMomentsBlock": 4096}
_ROW_GROUP, _RADIX, _LEVELS = 4, 8, 6


def rounds(op: kp.Operation) -> bool:
    """Whether `op` is a reduction whose error grows with its points."""
    return (
        isinstance(op, kp.Reduce)
        and op.kind in ("sum", "welford")
        and op.dtypes[0] in cpp_types.FLOATS
    )


def is_long_across(axes: tuple[kp.Axis, ...], heavy: bool) -> bool:
    """Whether lanes that are points themselves take more of `axes` than one block."""
    return _exceeds(axes, _SHORT_LANES if heavy else _SHORT_PARTS)


def is_long_along(axes: tuple[kp.Axis, ...]) -> bool:
    """Whether one accumulator takes more points of `axes` than it should."""
    return _exceeds(axes, _SHORT_POINTS)


def block_across(ops: tuple[kp.Operation, ...], heavy: bool) -> str:
    """Points of a block of lanes that are points, as spelled in C++."""
    if any(isinstance(op, kp.Reduce) and op.kind == "welford" for op in ops):
        return "kMomentsBlock"
    return "kHeavyBlock" if heavy else "kBlock"


def is_cut(lane: kp.Axis, block: str) -> bool:
    """Whether blocks are pieces of the lane axis; else they are whole runs along it."""
    return not isinstance(lane.extent, int) or lane.extent > _BLOCKS[block]


def column_levels(axes: tuple[kp.Axis, ...]) -> int:
    """Levels of a cascade over the groups of rows of `axes`, innermost last."""
    groups = 1
    for axis in axes:
        if not isinstance(axis.extent, int):
            return _LEVELS
        groups *= axis.extent if axis is not axes[-1] else -(-axis.extent // _ROW_GROUP)
    levels = 1
    while levels < _LEVELS and _RADIX**levels < groups:
        levels += 1
    return levels


def _exceeds(axes: tuple[kp.Axis, ...], limit: int) -> bool:
    points = 1
    for axis in axes:
        if not isinstance(axis.extent, int):
            return True
        points *= axis.extent
    return points > limit
