"""One SSA operation -> its line of C++ inside a stage."""

from __future__ import annotations

from typing import Any

from spyre_inductor.errors import PlanError
from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.plan.expr import IntExpr, IntOp, symbols

from . import cpp_types
from .code_lines import CodeLines
from .compute_text import spelling
from .index_text import affine_stride, factor_text, index_text
from .lane_analysis import LaneAnalysis
from .transposed_reads import block_name

# Outputs from this size on are stored past the caches.
STREAMED_BYTES = 8 << 20


class OperationRenderer:
    """Renders the operations of one stage into `lines`; `headers` gathers what they need."""

    def __init__(self, analysis: LaneAnalysis, stage: int, lines: CodeLines) -> None:
        self.analysis = analysis
        self.plan = analysis.plan
        self.stage = stage
        self.lines = lines
        self.lanes = analysis.lanes_in(stage)
        self.headers: set[str] = set()
        self._arrays: set[str] = set()

    # --- operands ---------------------------------------------------------------------------
    def operand(self, value: str, varying: bool) -> str:
        """`value` as lanes or as a scalar."""
        if varying and not self.analysis.value(value).varying:
            return f"splat({value})"
        return value

    def declare(self, result: str, text: str) -> None:
        value = self.analysis.value(result)
        kind = cpp_types.lane_type if value.varying else cpp_types.scalar_type
        self.lines.add(f"const {kind(value.dtype)} {result} = {text};")

    # --- operations -------------------------------------------------------------------------
    def render(self, op: kp.Operation) -> None:
        method = getattr(self, "_" + type(op).__name__.lower(), None)
        if method is None:
            raise PlanError(
                f"{self.plan.name}: no rendering for {type(op).__name__} here"
            )
        method(op)

    def _constant(self, op: kp.Constant) -> None:
        self.declare(op.result, cpp_types.literal(op.value, op.dtype))

    def _indexvalue(self, op: kp.IndexValue) -> None:
        scalar = cpp_types.scalar_type(op.dtype)
        if not self.analysis.value(op.result).varying:
            text = index_text(op.expr)
            self.declare(
                op.result, text if scalar in ("i64", "f64") else f"{scalar}({text})"
            )
            return
        self.declare(op.result, self.index_lanes(op.expr, scalar))

    def index_lanes(self, expr: IntExpr, scalar: str = "i64") -> str:
        """An index expression as lanes of type `scalar`."""
        if isinstance(expr, str) and self._is_varying_symbol(expr):
            return expr if scalar == "i64" else f"convert<{scalar}>({expr})"
        stride = self._lane_stride(expr)
        if stride is None:
            return f"by_lane<{scalar}>({self.lane_function(expr)})"
        return f"iota<{scalar}>({index_text(expr)}, {index_text(stride)})"

    def _load(self, op: kp.Load) -> None:
        value = self.analysis.value(op.result)
        memory = self.analysis.memory_dtype(op.buffer)
        text = self._load_text(op, value.varying)
        if cpp_types.compute_dtype(memory) != op.dtype:
            text = f"convert<{cpp_types.scalar_type(op.dtype)}>({text})"
        self.declare(op.result, text)

    def _load_text(self, op: kp.Load, varying: bool) -> str:
        address = self._address(op.buffer, op.index)
        if not varying:
            if op.mask is None:
                return f"load({address})"
            zero = cpp_types.literal(0, op.dtype)
            return f"{op.mask} ? load({address}) : {zero}"
        mask = "" if op.mask is None else f", {self.operand(op.mask, True)}"
        stride = self._lane_stride(op.index)
        if op.result in self.analysis.turned:
            self.headers.add("transpose.h")
            return f"load(lanes, {block_name(op)} + (outer - first) * kLanes)"
        if stride == 1:
            return f"load(lanes, {address}{mask})"
        if stride == 0 and not mask:
            return f"splat(load({address}))"
        if stride is not None:
            return f"load_strided(lanes, {address}, {index_text(stride)}{mask})"
        return f"gather(lanes, {op.buffer}, {self.lane_function(op.index)}{mask})"

    def _compute(self, op: kp.Compute) -> None:
        value = self.analysis.value(op.result)
        spelled = spelling(op.op, self.analysis.value(op.args[0]).dtype)
        if spelled.header is not None:
            self.headers.add(spelled.header)
        args = [self.operand(arg, value.varying) for arg in op.args]
        if value.varying and self.analysis.is_share(op):
            self.declare(op.result, f"share_of({op.args[0]}, {op.args[1]})")
            return
        if op.op == "where" and not self.analysis.value(op.args[0]).varying:
            args[0] = op.args[0]
        self.declare(
            op.result,
            (spelled.lanes if value.varying else spelled.scalar).format(*args),
        )

    def _cast(self, op: kp.Cast) -> None:
        source = self.analysis.value(op.value)
        text = op.value
        if op.bitcast:
            if op.from_memory is None or op.to_memory is None:
                raise PlanError(
                    f"{self.plan.name}: bitcast {op.result} lacks its memory types"
                )
            pair = [cpp_types.memory_type(m) for m in (op.from_memory, op.to_memory)]
            text = f"reinterpret<{', '.join(pair)}>({text})"
            self.headers |= cpp_types.memory_headers((op.from_memory, op.to_memory))
        elif op.dtype == "bool" != source.dtype:
            zero = cpp_types.literal(0, source.dtype)
            if source.varying:
                zero = f"splat<{cpp_types.scalar_type(source.dtype)}>({zero})"
            text = f"{text} != {zero}"
        elif source.dtype != op.dtype:
            text = f"convert<{cpp_types.scalar_type(op.dtype)}>({text})"
        if op.rounds_to is not None:
            target = cpp_types.memory_type(op.rounds_to)
            self.headers |= cpp_types.memory_headers((op.rounds_to,))
            rounds = f"round_to<{target}>"
            if target == "bf16" and source.varying and self._has_clear_nans(op.value):
                rounds = "round_clear_bf16"
            text = f"{rounds}({text})"
        self.declare(op.result, text)

    def _store(self, op: kp.Store) -> None:
        varying = self.analysis.value(op.value).varying
        by_lane = self.lanes and (
            varying or self.analysis.depends_on_lane(op.index, self.stage)
        )
        address = self._address(op.buffer, op.index)
        if op.mode == "atomic_add":
            self._store_atomic(op, by_lane, address)
        elif op.mode != "plain":
            raise PlanError(f"{self.plan.name}: unknown store mode {op.mode!r}")
        elif not by_lane:
            self.lines.add(f"store({address}, {op.value});")
        else:
            self._store_lanes(op, address)

    def _store_lanes(self, op: kp.Store, address: str) -> None:
        unrounded = self._unrounded(op)
        value = self.operand(unrounded, True)
        stride = self._lane_stride(op.index)
        if stride == 1:
            past = self._passes_caches(op.buffer)
            if past:
                self.headers.add("stream.h")
            how = ""
            if self.analysis.paired is not None:
                nan = "kClear" if self._has_clear_nans(unrounded) else "kAny"
                how = f"<{self.analysis.paired[op]}, Nan::{nan}>"
            verb = "stream" if past else "store"
            self.lines.add(f"{verb}{how}(lanes, {address}, {value});")
        elif stride == 0:
            self.lines.add(f"store({address}, last_lane(lanes, {value}));")
        elif stride is not None:
            step = index_text(stride)
            self.lines.add(f"store_strided(lanes, {address}, {step}, {value});")
        else:
            index = self.lane_function(op.index)
            self.lines.add(f"scatter(lanes, {op.buffer}, {index}, {value});")

    def _has_clear_nans(self, value: str) -> bool:
        return value in self.analysis.clear_nans

    def _unrounded(self, op: kp.Store) -> str:
        """The stored value, before a rounding that the store itself repeats."""
        source = self.analysis.rounded_from.get(op.value)
        memory = self.analysis.memory_dtype(op.buffer)
        if source is None or source.rounds_to != memory:
            return op.value
        visible = self.analysis.value(source.value).stage == self.stage
        return source.value if visible else op.value

    def _passes_caches(self, buffer: str) -> bool:
        """Whether an output is larger than what the next kernel could find in a cache."""
        (argument,) = (b for b in self.plan.buffers if b.name == buffer)
        elems = argument.storage_elems
        if argument.access != "write" or not isinstance(elems, int):
            return False
        return elems * cpp_types.itemsize(argument.dtype) >= STREAMED_BYTES

    def _store_atomic(self, op: kp.Store, by_lane: bool, address: str) -> None:
        self.headers.add("atomic.h")
        if not self.lanes:
            self.lines.add(f"atomic_add({address}, {op.value});")
            return
        index = self.lane_function(op.index)
        value = self.operand(op.value, True)
        self.lines.add(f"atomic_add(lanes, {op.buffer}, {index}, {value});")

    def _checkbounds(self, op: kp.CheckBounds) -> None:
        names = (op.value,) if op.mask is None else (op.value, op.mask)
        lower = "kNoLower" if op.lower is None else index_text(op.lower)
        upper = "kNoUpper" if op.upper is None else index_text(op.upper)
        lanes, value, *mask = self._lanes_and_operands(names)
        args = ", ".join(("args", *lanes, value, lower, upper, str(op.check), *mask))
        self._leave_unless(f"in_bounds({args})")

    def _assert(self, op: kp.Assert) -> None:
        names = (op.condition,) if op.mask is None else (op.condition, op.mask)
        lanes, *operands = self._lanes_and_operands(names)
        args = ", ".join(("args", *lanes, str(op.check), *operands))
        self._leave_unless(f"holds({args})")

    def _lanes_and_operands(self, names: tuple[str, ...]) -> list[Any]:
        varying = any(self.analysis.value(name).varying for name in names)
        lanes = ("lanes",) if varying else ()
        return [lanes, *(self.operand(name, varying) for name in names)]

    def _leave_unless(self, condition: str) -> None:
        # Leaves the step before anything out of bounds is touched; the launch has failed.
        self.headers.add("checks.h")
        self.lines.add(f"if (!{condition}) return;")

    def _random(self, op: kp.Random) -> None:
        self.headers.add("random.h")
        varying = self.analysis.value(op.result).varying
        args = ", ".join(self.operand(arg, varying) for arg in op.args)
        self.declare(op.result, f"philox_{op.kind}({args})")

    def _bucketize(self, op: kp.Bucketize) -> None:
        self.headers.add("bucketize.h")
        varying = self.analysis.value(op.result).varying
        scalar = cpp_types.scalar_type(op.dtype)
        parts = [op.boundaries]
        parts += [index_text(e) for e in (op.boundary_count, op.boundary_stride)]
        operands = [op.value, op.boundary_index]
        if op.sorter is not None and op.sorter_index is not None:
            parts += [op.sorter, index_text(op.sorter_stride or 1)]
            operands.append(op.sorter_index)
        args = [self.operand(name, varying) for name in operands]
        args.insert(1, f"Boundaries{{{', '.join(parts)}}}")
        if varying:
            args += ["splat(i64(0))"] if op.sorter is None else []
            args.append("lanes.bits")
        right = "true" if op.right else "false"
        self.declare(op.result, f"bucketize<{scalar}, {right}>({', '.join(args)})")

    # --- index expressions ------------------------------------------------------------------
    def _address(self, buffer: str, index: IntExpr) -> str:
        if any(self._is_varying_symbol(name) for name in symbols(index)):
            return buffer  # used with a lane function only
        if index == 0:
            return buffer
        return f"{buffer} + {factor_text(index)}"

    def _is_varying_symbol(self, name: str) -> bool:
        return name in self.analysis.values and self.analysis.value(name).varying

    def _lane_stride(self, index: IntExpr) -> IntExpr | None:
        """Elements between lanes; None when the index is not affine in the lane axis."""
        if any(self._is_varying_symbol(name) for name in symbols(index)):
            return None
        if not self.lanes or self.plan.lane_axis is None:
            return 0
        return affine_stride(index, self.plan.lane_axis)

    def lane_function(self, index: IntExpr) -> str:
        """A lambda that gives `index` for lane k."""
        for name in sorted(symbols(index)):
            if self._is_varying_symbol(name):
                self._declare_array(name)

        def rename(name: str) -> str:
            if self.lanes and name == self.plan.lane_axis:
                return f"({name} + k)"
            if self._is_varying_symbol(name):
                return f"{name}_at[k]"
            return name

        return f"[&](i64 k) SPYRE_STEP {{ return {index_text(index, rename)}; }}"

    def _declare_array(self, name: str) -> None:
        if name not in self._arrays:
            self._arrays.add(name)
            self.lines.add(f"const auto {name}_at = as_array({name});")


def linear_index(axes: tuple[kp.Axis, ...]) -> IntExpr:
    """Row-major position over `axes`."""
    index: IntExpr = 0
    for axis in axes:
        index = (
            axis.name
            if index == 0
            else IntOp("add", (scaled(index, axis.extent), axis.name))
        )
    return index


def scaled(index: IntExpr, extent: IntExpr) -> IntExpr:
    return IntOp("mul", (index, extent))
