"""SpyreKernel: one Inductor node group while it is turned into a KernelPlan."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sympy
import torch
from torch._inductor.codegen.common import (
    CSEVariable,
    WorkspaceArg,
    WorkspaceZeroMode,
    is_buffer_removed,
)
from torch._inductor.codegen.simd import IterationRangesEntry, SIMDKernel
from torch._inductor.utils import sympy_index_symbol
from torch._inductor.virtualized import OpsValue, V
from torch.utils._ordered_set import OrderedSet
from torch.utils._sympy.value_ranges import ValueRanges

from spyre_inductor.errors import UnsupportedError
from spyre_inductor.plan.json_codec import to_json
from spyre_inductor.plan.kernel_plan import (
    Assert,
    Bucketize,
    Cast,
    CheckBounds,
    Constant,
    IndexValue,
    KernelPlan,
    Load,
    Operation,
    Reduce,
    Scan,
)
from spyre_inductor.plan.operations import index_expressions, operands

from .dtypes import compute_dtype, dtype_name
from .overrides import SpyreOverrides
from .pending_launches import Launch, PendingLaunches
from .plan_builder import build_plan
from .recorder import PendingStore, Recorder, combined_place
from .reductions import record_reduction
from .scans import record_scan
from .split_reduction import Partial, plan_with_workspaces
from .staging import LoopStaging
from .values import AFTER_LOOP, BEFORE_LOOP, IN_LOOP, SpyreCSE, SpyreCSEVariable


class SpyreKernel(SIMDKernel[SpyreCSEVariable]):
    """Records operations instead of writing text; `codegen_kernel` closes the plan.

    The plan is `self.plan` after `codegen_kernel`. The scheduling names it and says in `launches`
    what to run for it: the plan, or those of a split reduction or scan with their `partials`.
    """

    overrides = SpyreOverrides  # type: ignore[assignment]
    plan: KernelPlan
    launches: tuple[KernelPlan, ...] = ()
    partials: tuple[Partial, ...] = ()
    pending: PendingLaunches
    in_tail: bool = False  # reads what waiting launches write

    def __init__(self, tiling: dict[str, sympy.Expr], **kwargs: Any) -> None:
        super().__init__(tiling, **kwargs)
        self.cse = SpyreCSE()
        self.recorder = Recorder()
        self.check_messages: list[str] = []
        self.staging = LoopStaging(self)

    # --- what Inductor's base class asks -----------------------------------------------------
    def create_cse_var(self, *args: Any, **kwargs: Any) -> SpyreCSEVariable:
        return SpyreCSEVariable(*args, **kwargs)

    @contextmanager
    def set_current_node(self, node: Any) -> Iterator[None]:
        """Bounds of values only where some value is an index: they take a fifth of the time."""
        if any(n._body.indirect_vars for n in self.features.scheduler_nodes()):
            with super().set_current_node(node):
                yield
            return
        outer, self.current_node = self.current_node, node
        self.node_to_bounds = None
        try:
            yield
        finally:
            self.current_node = outer

    def dtype_to_str(self, dtype: torch.dtype) -> str:
        return dtype_name(dtype)

    def codegen_iteration_ranges_entry(self, entry: IterationRangesEntry) -> None:
        """Nothing to write: the axes are chosen once, when the plan is built."""

    def codegen_body(self) -> None:
        """Ends the current stage; loop values are forgotten."""
        self.recorder.end_stage()
        self.staging.end_loop()
        kept = []
        for result in self.cse.reduction_cache.values():
            kept.extend(result if isinstance(result, tuple) else (result,))
        self.cse.forget_loop_values(kept)

    def codegen_kernel(self, name: str | None = None) -> str:
        """Builds `self.plan` and gives its JSON without what varies between equal kernels."""
        self.codegen_body()
        self.plan = build_plan(self)
        return to_json(dataclasses.replace(self.plan, sources=()))

    def call_kernel(
        self, name: str, node: Any = None, deallocate_ws: bool = True
    ) -> None:
        """Writes the launch of this kernel into the wrapper."""
        wrapper = V.graph.wrapper_code
        for symbol in self.args.sizevars:
            wrapper.ensure_size_computed(symbol)
        argdefs, call_args, _, _ = self.args.python_argdefs()
        arguments = dict(zip((argdef.name for argdef in argdefs), call_args))
        workspaces = [self._workspace(partial) for partial in self.partials]
        for partial, workspace in zip(self.partials, workspaces):
            wrapper.generate_workspace_allocation(workspace)
            arguments[partial.name] = workspace.outer_name
        for number, plan in enumerate(self.launches):
            names = [b.name for b in plan.buffers] + [s.name for s in plan.scalars]
            args = tuple(arguments[name] for name in names)
            named = plan_with_workspaces(plan, arguments)
            node = V.graph.scheduler.current_node
            launch = Launch(named, args, self._operations(), node)
            # A later kernel of a split plan reads what the first one wrote.
            if number > 0 and plan.division.cores > 1:
                self.pending.flush()
            self.pending.add(launch, in_tail=self.in_tail or number > 0)
        for workspace in workspaces:
            self.pending.release_later(workspace)

    def _operations(self) -> OrderedSet[str]:
        return OrderedSet(
            name
            for node in self.features.scheduler_nodes()
            for name in node.get_operation_names()
        )

    def _workspace(self, partial: Partial) -> WorkspaceArg:
        return WorkspaceArg(
            count=sympy.sympify(partial.elems),
            zero_mode=WorkspaceZeroMode.UNINITIALIZED,
            device=V.graph.get_current_device_or_throw(),
            outer_name=WorkspaceArg.unique_name(),
            inner_name=partial.name,
            dtype=getattr(torch, partial.dtype),
        )

    # --- recording ---------------------------------------------------------------------------
    def record(
        self,
        op: Operation,
        dtype: torch.dtype,
        bounds: ValueRanges[Any] | None = None,
        pinned: bool = False,
    ) -> SpyreCSEVariable:
        """Records `op` (result name empty), or finds the value of an equal one.

        Args:
            pinned: keep it inside the reduction loop even if nothing in it depends on the loop.
        """
        key: Any = op
        if isinstance(op, Constant):
            key = (op, repr(op.value))  # 0.0 and -0.0 are equal but not the same
        known = self.cse.try_get(key)
        if known is not None:
            known.use_count += 1
            return known
        place = self.place_of(op)
        if pinned and self.inside_reduction:
            place = max(place, IN_LOOP)
        value = self.cse.newvar(bounds or ValueRanges.unknown(), dtype, ())
        value.place = place
        self.cse.put(key, value)
        self.recorder.append(dataclasses.replace(op, result=value.name), place)
        return value

    def place_of(self, op: Operation) -> int:
        """BEFORE_LOOP, IN_LOOP or AFTER_LOOP, from what `op` depends on."""
        values = self.cse.varname_map
        places = [values[name].place for name in operands(op)]
        for expr in index_expressions(op):
            for symbol in expr.free_symbols:
                if symbol in self.range_tree_nodes:
                    entry = self.range_tree_nodes[symbol]
                    places.append(IN_LOOP if entry.is_reduction else BEFORE_LOOP)
                elif symbol.name in values:
                    places.append(values[symbol.name].place)
        if not self.inside_reduction:
            return BEFORE_LOOP if AFTER_LOOP not in places else AFTER_LOOP
        return combined_place(places)

    def constant(self, value: Any, dtype: torch.dtype) -> SpyreCSEVariable:
        """A literal of compute type `dtype`."""
        literal: bool | int | float | str
        if dtype is torch.bool:
            literal = bool(value)
        elif dtype.is_floating_point:
            literal = float(value)
            if not math.isfinite(literal):
                literal = str(literal)  # "inf", "-inf", "nan"
        else:
            info = torch.iinfo(dtype)
            size = 1 << info.bits
            literal = (int(value) - info.min) % size + info.min  # C's wrap-around
        number = literal if isinstance(literal, (bool, int)) else float(literal)
        bounds = ValueRanges.unknown()
        if not (isinstance(number, float) and not math.isfinite(number)):
            bounds = ValueRanges.wrap(number)
        result = self.record(Constant("", literal, dtype_name(dtype)), dtype, bounds)
        result.literal = value if isinstance(value, (bool, int, float)) else number
        return result

    def as_dtype(self, value: Any, dtype: torch.dtype) -> SpyreCSEVariable:
        """`value` (a value or a Python number) as an operand of type `dtype`.

        A literal is spelled anew in `dtype`, so that it loses no digits on the way.
        """
        value = value.value if isinstance(value, OpsValue) else value
        if not isinstance(value, SpyreCSEVariable):
            return self.constant(value, dtype)
        if value.dtype == dtype:
            return value
        if value.literal is not None:
            return self.constant(value.literal, dtype)
        return self.convert(value, dtype)

    def convert(self, value: SpyreCSEVariable, dtype: torch.dtype) -> SpyreCSEVariable:
        """`value` converted to `dtype` as the program asks for it."""
        if value.dtype == dtype:
            return value
        whole = dtype is torch.int64 and not value.dtype.is_floating_point
        bounds = value.bounds if whole and value.dtype is not torch.bool else None
        return self.record(Cast("", value.name, dtype_name(dtype)), dtype, bounds)

    def load(self, name: str, index: sympy.Expr) -> SpyreCSEVariable:
        memory = V.graph.get_dtype(name)
        dtype = compute_dtype(memory)
        index = self.prepare_indexing(index)
        mask = None if self._load_mask is None else self._load_mask.name
        staged = self.staging.value_of(name, index) if mask is None else None
        if staged is not None:
            return self.as_dtype(staged, dtype)
        buffer = self.args.input(name)
        op = Load("", buffer, index, dtype_name(dtype), mask=mask)
        value = self.record(op, dtype, pinned=self.recorder.was_stored_here(buffer))
        value.exact_in = memory
        return value

    def store(
        self, name: str, index: sympy.Expr, value: CSEVariable, mode: Any = None
    ) -> None:
        if value is None:
            return  # the token of a device assertion
        if mode not in (None, "atomic_add", "tma"):
            raise UnsupportedError("store", f"mode {mode!r} of buffer {name}")
        dtype = compute_dtype(V.graph.get_dtype(name))
        buffer = self.args.output(name)
        index, stored = self.prepare_indexing(index), self.as_dtype(value, dtype)
        kind = "atomic_add" if mode == "atomic_add" else "plain"
        op = PendingStore(buffer, index, stored.name, kind, graph_name=name)
        place = self.place_of(op)
        if kind == "plain" and self.inside_reduction:
            self.staging.note_store(name, index, stored)
        if self.inside_reduction:
            place = max(place, IN_LOOP)
        self.recorder.append(op, place)

    def is_removed(self, graph_name: str) -> bool:
        """Whether nobody needs buffer `graph_name` in memory any more."""
        return is_buffer_removed(graph_name)

    # --- reductions, scans, checks -----------------------------------------------------------
    def reduction(
        self,
        dtype: torch.dtype,
        src_dtype: torch.dtype,
        reduction_type: Any,
        value: Any,
    ) -> Any:
        key = (src_dtype, reduction_type, value)
        if key not in self.cse.reduction_cache:
            result = record_reduction(self, dtype, reduction_type, value)
            self.cse.reduction_cache[key] = result
        return self.cse.reduction_cache[key]

    def record_reduce(self, op: Reduce, dtypes: list[torch.dtype]) -> tuple[Any, ...]:
        """Records a Reduce; its results are known after the loop."""
        results = tuple(self.cse.newvar(dtype=dtype) for dtype in dtypes)
        for result in results:
            result.place = AFTER_LOOP
        names = tuple(result.name for result in results)
        self.recorder.append(dataclasses.replace(op, results=names), IN_LOOP)
        return results

    def record_scan_op(self, op: Scan, dtypes: list[torch.dtype]) -> tuple[Any, ...]:
        """Records a Scan; its results are running values inside the loop."""
        results = tuple(self.cse.newvar(dtype=dtype) for dtype in dtypes)
        for result in results:
            result.place = IN_LOOP
        names = tuple(result.name for result in results)
        self.recorder.append(dataclasses.replace(op, results=names), IN_LOOP)
        return results

    def scan(
        self,
        dtypes: tuple[torch.dtype, ...],
        combine_fn: Callable[..., Any],
        values: tuple[CSEVariable, ...],
    ) -> tuple[CSEVariable, ...]:
        return record_scan(self, dtypes, combine_fn, values)

    def reduction_position(self) -> sympy.Expr:
        """Logical position along the reduction, in the order of its ranges."""
        position: sympy.Expr = sympy.S.Zero
        for tree in self.range_trees:
            if tree.is_reduction:
                position = position * tree.numel + tree.full_range().symbol()
        return position

    def bucketize(
        self,
        values: CSEVariable,
        boundaries: tuple[str, sympy.Expr, sympy.Expr, sympy.Expr],
        boundary_indices: CSEVariable,
        indexing_dtype: torch.dtype,
        right: bool,
        sorter: tuple[str, sympy.Expr] | None = None,
        sorter_indices: CSEVariable | None = None,
    ) -> CSEVariable:
        name, count, _, stride = boundaries
        # Compared in the boundaries' own type, as searchsorted does after promotion.
        dtype = compute_dtype(V.graph.get_dtype(name))
        op = Bucketize(
            "",
            self.as_dtype(values, dtype).name,
            self.args.input(name),
            self.prepare_indexing(count),
            self.prepare_indexing(stride),
            self.as_dtype(boundary_indices, torch.int64).name,
            right,
            dtype_name(indexing_dtype),
        )
        if sorter is not None:
            op = dataclasses.replace(
                op,
                sorter=self.args.input(sorter[0]),
                sorter_stride=self.prepare_indexing(sorter[1]),
                sorter_index=self.as_dtype(sorter_indices, torch.int64).name,
            )
        return self.record(op, indexing_dtype)

    def check_bounds(
        self, expr: sympy.Expr, size: sympy.Expr, lower: bool, upper: bool
    ) -> None:
        if not (lower or upper):
            return
        expr = self.prepare_indexing(expr)
        if isinstance(expr, sympy.Symbol) and expr.name in self.cse.varname_map:
            value = self.cse.varname_map[expr.name]
        else:
            value = self.record(IndexValue("", expr, "int64"), torch.int64)
        limit = self.prepare_indexing(sympy.sympify(size))
        op = CheckBounds(
            value.name,
            sympy.S.Zero if lower else None,
            limit if upper else None,
            0,
            None if self._load_mask is None else self._load_mask.name,
        )
        if not self.cse.contains(op):
            self.cse.put(op, value)
            message = f"index out of range for a dimension of size {size}"
            self._record_check(op, message)

    def device_assert_async(self, cond: CSEVariable, msg: str) -> None:
        mask = None if self._load_mask is None else self._load_mask.name
        condition = self.as_dtype(cond, torch.bool).name
        self._record_check(Assert(condition, 0, mask), msg)

    def _record_check(self, op: Any, message: str) -> None:
        if message not in self.check_messages:
            self.check_messages.append(message)
        op = dataclasses.replace(op, check=self.check_messages.index(message))
        self.recorder.append(op, self.place_of(op))

    def symbol_of(self, value: SpyreCSEVariable) -> sympy.Symbol:
        """`value` (int64) as a symbol for an index expression."""
        return sympy_index_symbol(value.name)
