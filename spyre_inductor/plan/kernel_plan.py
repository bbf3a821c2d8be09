"""KernelPlan: everything that is known about one kernel, as data.

Execution model. The kernel visits every point of the product of its parallel `axes` (outermost
first). At each point the `stages` run in order. A PointStage's operations run once. A LoopStage's
operations run for every point of the product of `reduction_axes` (outermost first, in order); its
Reduce results are complete after the stage and visible to later stages. Other values of a LoopStage
are visible inside that stage only; values of a PointStage are visible in all later stages.

Values are in SSA form: each `result` name is defined once, before its use. Compute types are
float32, float64, int8..int64, uint8..uint64 and bool; 16-bit and 8-bit floats exist in memory only
(Load widens to float32, Store rounds to nearest even) and as the target of a rounding Cast.
A Store's value has the compute type of its buffer. Operands of Compute are typed by
op_table.COMPUTE_OPS: nothing is promoted implicitly. A Cast from float to integer truncates; a Cast
to bool is `!= 0`. An index inside a Load, Store, IndexValue or limit names axes, integer scalar
arguments and int64 values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from .expr import IntExpr

# A schema change bumps this; it enters the kernel cache key.
PLAN_VERSION = 1


@dataclass(frozen=True)
class BufferArgument:
    """A tensor the kernel touches; its position is its slot in spyre_kernel_args.buffers."""

    name: str  # in_ptr0, out_ptr1, in_out_ptr0
    buffers: tuple[
        str, ...
    ]  # graph names that share it: ("buf0",) or ("arg0_1", "buf3") in place
    dtype: str  # memory type: "float32", "bfloat16", "bool", ...
    access: str  # "read", "write", "readwrite"
    shape: tuple[IntExpr, ...]  # the tensor's own, for the reader and the verifier
    strides: tuple[IntExpr, ...]  # elements
    storage_elems: (
        IntExpr  # elements addressable from the argument's address (its data_ptr)
    )


@dataclass(frozen=True)
class ScalarArgument:
    """A size known at launch; its position is its slot in spyre_kernel_args.scalars."""

    name: str  # ks0
    dtype: str  # "int64" or "float64" (passed as the bits of a double)
    hint: int | float | None = None  # value at compile time, for cost and for people


@dataclass(frozen=True)
class Axis:
    """One loop; `extent` in points."""

    name: str  # x0, x1, r0_0
    extent: IntExpr
    kind: str  # "parallel" or "reduction"


# --- operations ---------------------------------------------------------------------------------
# An Operand is the name of an SSA value.
Operand = str


@dataclass(frozen=True)
class Constant:
    """A literal. Non-finite floats are the strings "inf", "-inf", "nan"."""

    result: str
    value: int | float | bool | str
    dtype: str


@dataclass(frozen=True)
class IndexValue:
    """An index expression as an int64 value; or a float scalar argument's name (dtype float64)."""

    result: str
    expr: IntExpr
    dtype: str


@dataclass(frozen=True)
class Load:
    """buffer[index], `index` in elements; lanes where `mask` is false are not read and give 0."""

    result: str
    buffer: str
    index: IntExpr
    dtype: str  # compute type: float32 for 16-bit and 8-bit float memory
    mask: Operand | None = None


@dataclass(frozen=True)
class Compute:
    """An Inductor ops-handler operator (add, exp, where, lt, ...) applied to SSA values."""

    result: str
    op: str
    args: tuple[Operand, ...]
    dtype: str


@dataclass(frozen=True)
class Cast:
    """Conversion of `value` to `dtype`.

    `rounds_to` names a 16-bit or 8-bit float when the value must be rounded to it while staying
    float32. `bitcast` reinterprets bits between memory types of one size (`from_memory` to
    `to_memory`) instead of converting.
    """

    result: str
    value: Operand
    dtype: str
    rounds_to: str | None = None
    bitcast: bool = False
    from_memory: str | None = None
    to_memory: str | None = None


@dataclass(frozen=True)
class CheckBounds:
    """Fails the launch when lower <= value < upper does not hold where `mask` does.

    A None limit is not checked. `check` is the position in KernelPlan.checks.
    """

    value: Operand
    lower: IntExpr | None
    upper: IntExpr | None
    check: int
    mask: Operand | None = None


@dataclass(frozen=True)
class Assert:
    """Fails the launch when `condition` is false (where `mask` holds)."""

    condition: Operand
    check: int
    mask: Operand | None = None


@dataclass(frozen=True)
class Store:
    """buffer[index] = value, rounded to the memory type. mode: "plain", "atomic_add"."""

    buffer: str
    index: IntExpr
    value: Operand
    mode: str = "plain"


@dataclass(frozen=True)
class Reduce:
    """Reduction over `reduction_axes`; only in a LoopStage.

    kind: sum prod max min any xor_sum argmax argmin (one result), welford (results mean, m2,
    weight; one arg), welford_combine (results mean, m2, weight; three args). `dtype` is the compute
    type of the accumulator, one per result. argmax/argmin give the int64 position `index` of the
    first extreme, NaN counting as extreme.
    """

    results: tuple[str, ...]
    kind: str
    args: tuple[Operand, ...]
    dtypes: tuple[str, ...]
    index: IntExpr | None = None  # argmax/argmin: logical position along the reduction


@dataclass(frozen=True)
class Scan:
    """Inclusive scan along the reduction axis, in order; results are the running values.

    kind: a name (sum, prod, max, min, logcumsumexp, ...) or "region" with `combine` over
    `lhs` and `rhs` names giving `combine_results`.
    """

    results: tuple[str, ...]
    kind: str
    args: tuple[Operand, ...]
    dtypes: tuple[str, ...]
    lhs: tuple[str, ...] = ()
    rhs: tuple[str, ...] = ()
    combine: tuple[Operation, ...] = ()
    combine_results: tuple[str, ...] = ()


@dataclass(frozen=True)
class Random:
    """Philox4x32-10 at counter `offset` under key `seed`; the same whatever the division.

    kind: rand and randn (float32; args seed, offset), randint64 (int64; args seed, offset, low,
    high; low <= result < high). All operands are int64.
    """

    result: str
    kind: str
    args: tuple[Operand, ...]
    dtype: str


@dataclass(frozen=True)
class Bucketize:
    """Position of `value` in the sorted `boundaries` buffer (binary search)."""

    result: str
    value: Operand
    boundaries: str  # buffer name
    boundary_count: IntExpr
    boundary_stride: IntExpr
    boundary_index: Operand
    right: bool
    dtype: str
    sorter: str | None = None
    sorter_stride: IntExpr | None = None
    sorter_index: Operand | None = None


Operation = Union[
    Constant,
    IndexValue,
    Load,
    Compute,
    Cast,
    CheckBounds,
    Assert,
    Store,
    Reduce,
    Scan,
    Random,
    Bucketize,
]


@dataclass(frozen=True)
class PointStage:
    ops: tuple[Operation, ...]


@dataclass(frozen=True)
class LoopStage:
    ops: tuple[Operation, ...]


Stage = Union[PointStage, LoopStage]


@dataclass(frozen=True)
class Division:
    """How the iteration space is cut over the virtual cores.

    The product of the extents of `axes` (a prefix of KernelPlan.axes, or one reduction axis for a
    split reduction) is cut into `cores` contiguous slices in units of `grain` points: core c of C
    gets units [c*n//C, (c+1)*n//C) of n = ceildiv(points, grain). A split reduction writes one
    partial per core to the workspace; a second kernel combines them.
    """

    axes: tuple[str, ...]
    cores: int
    grain: int = 1


@dataclass(frozen=True)
class LxTile:
    """What one core works on at a time: points per axis, and the bytes it keeps in LX."""

    extents: tuple[tuple[str, IntExpr], ...]  # axis name -> points per tile
    bytes: int  # <= plan.verify.LX_BUDGET_BYTES
    staged: tuple[
        str, ...
    ] = ()  # SSA values of one LoopStage kept in LX for a later stage


@dataclass(frozen=True)
class SourceNote:
    """Where the kernel comes from: an FX node and the user's line."""

    node: str
    op: str
    location: str = ""


@dataclass(frozen=True)
class KernelPlan:
    name: str  # entry point symbol
    template: str  # file stem in codegen_templates/kernels
    buffers: tuple[BufferArgument, ...]
    scalars: tuple[ScalarArgument, ...]
    axes: tuple[Axis, ...]
    reduction_axes: tuple[Axis, ...]
    stages: tuple[Stage, ...]
    division: Division
    tile: LxTile
    lane_axis: str | None  # vector lanes run along this axis; None: scalar code
    checks: tuple[
        str, ...
    ] = ()  # sentence per CheckBounds/Assert, for the error message
    workspace_bytes: int = 0
    sources: tuple[SourceNote, ...] = ()
    version: int = PLAN_VERSION


@dataclass(frozen=True)
class KernelGroup:
    """Kernels launched as one.

    Members do not depend on one another: each core runs its slice of every member in turn. The
    kernels of the tail may read what members and earlier kernels of the tail stored: the last core
    that finishes the members runs them in order, alone. Arguments and checks are those of the
    members and then of the tail, one after the other. None has a workspace.
    """

    name: str  # entry point symbol
    members: tuple[KernelPlan, ...]
    tail: tuple[KernelPlan, ...] = ()

    @property
    def kernels(self) -> tuple[KernelPlan, ...]:
        return (*self.members, *self.tail)

    @property
    def buffers(self) -> tuple[BufferArgument, ...]:
        return tuple(b for kernel in self.kernels for b in kernel.buffers)

    @property
    def scalars(self) -> tuple[ScalarArgument, ...]:
        return tuple(s for kernel in self.kernels for s in kernel.scalars)

    @property
    def checks(self) -> tuple[str, ...]:
        return tuple(c for kernel in self.kernels for c in kernel.checks)
