"""Wrapper lines -> LaunchPlan.

Walks the lines that Inductor's wrapper would print (allocations, reuse, kernel and extern calls) as
data. A line that a plan cannot hold raises NotExpressible; the graph then runs line by line in
Python, and the reason is logged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy
import torch
from torch._inductor import ir
from torch._inductor.codegen import wrapper as lines
from torch._inductor.codegen.common import WorkspaceArg, WorkspaceZeroMode
from torch._inductor.utils import LineContext, get_dtype_size
from torch._inductor.virtualized import V

from ..errors import UnsupportedError
from ..kernel.indexing import to_int_expr
from ..plan.expr import IntExpr, IntOp
from ..plan.launch_plan import (
    InputOutput,
    KernelStep,
    LaunchPlan,
    Memory,
    Output,
    SizeOutput,
    SizeSource,
    Step,
    TensorOutput,
    TensorSlot,
)
from .barriers import mark_barriers
from .extern_steps import NotExpressible, extern_steps


class PlanBuilder:
    """Builds the plan of one graph; use once.

    Args:
        graph_lines: The wrapper's lines after memory planning.
        inputs: Graph inputs by name, in call order.
        outputs: Graph outputs.
        device: Index of the card.
    """

    def __init__(
        self,
        graph_lines: Sequence[Any],
        inputs: dict[str, Any],
        outputs: Sequence[Any],
        device: int,
        cpu_resident: bool,
    ) -> None:
        self._lines = graph_lines
        self._inputs = inputs
        self._outputs = outputs
        self._device = device
        self._cpu_resident = cpu_resident
        self._sizes: dict[str, SizeSource] = {}
        self._memories: list[Memory] = []
        self._slots: list[TensorSlot] = []
        self._slot_of: dict[str, int] = {}
        self._steps: list[Step] = []
        self._derived: dict[sympy.Symbol, sympy.Expr] = {}

    def build(self, name: str) -> LaunchPlan:
        """Raises NotExpressible."""
        constants = self._bind_inputs()
        for line in self._lines:
            self._add_line(line)
        outputs = tuple(self._output(node) for node in self._outputs)
        for output in outputs:
            if isinstance(output, TensorOutput):
                self._leaves_with_output(self._slots[output.slot].memory)
        return LaunchPlan(
            name=name,
            device=self._device,
            input_count=len(self._inputs),
            constants=constants,
            sizes=tuple(self._sizes.values()),
            memories=tuple(self._memories),
            slots=tuple(self._slots),
            steps=mark_barriers(self._steps, self._slots),
            outputs=outputs,
            cpu_resident=self._cpu_resident,
        )

    # --- inputs -------------------------------------------------------------------------------

    def _bind_inputs(self) -> tuple[str, ...]:
        for position, value in enumerate(self._inputs.values()):
            self._bind_sizes(value, position)
        for position, (name, value) in enumerate(self._inputs.items()):
            if isinstance(value, ir.TensorBox):
                self._bind_tensor(name, value, position)
            elif not isinstance(value, (int, sympy.Integer, sympy.Symbol)):
                raise NotExpressible(f"input {name} is {type(value).__name__}")
        constants = tuple(V.graph.constants)
        for offset, name in enumerate(constants):
            self._bind_constant(
                name, V.graph.constants[name], len(self._inputs) + offset
            )
        return constants

    def _bind_sizes(self, value: Any, position: int) -> None:
        """Names the sizes that an input gives, integers before shapes as the wrapper does."""
        if isinstance(value, sympy.Symbol) and value.is_integer:
            self._sizes[value.name] = SizeSource(value.name, position, "value")
        if not isinstance(value, ir.TensorBox):
            return
        for kind, values in (
            ("size", value.get_size()),
            ("stride", value.get_stride()),
        ):
            for dim, symbol in enumerate(values):
                if isinstance(symbol, sympy.Symbol):
                    source = SizeSource(symbol.name, position, kind, dim)
                    self._sizes.setdefault(symbol.name, source)

    def _bind_tensor(self, name: str, box: ir.TensorBox, position: int) -> None:
        device = box.get_device()
        assert device is not None
        if device.type != "spyre" and not (device.type == "cpu" and not box.get_size()):
            raise NotExpressible(f"input {name} is on {device}")
        memory = self._add_memory(Memory("input", input=position))
        self._add_slot(name, memory, box.get_dtype(), box.get_size(), box.get_stride())

    def _bind_constant(self, name: str, value: torch.Tensor, position: int) -> None:
        if value.device.type != "spyre" and value.dim() > 0:
            raise NotExpressible(f"constant {name} is on {value.device}")
        memory = self._add_memory(Memory("input", input=position))
        self._add_slot(name, memory, value.dtype, value.size(), value.stride())

    # --- memories and slots -------------------------------------------------------------------

    def int_expr(self, expr: Any) -> IntExpr:
        """The expression over this call's sizes."""
        if isinstance(expr, sympy.Expr):
            expr = V.graph.sizevars.simplify(expr.subs(self._derived))
            unbound = [s for s in expr.free_symbols if s.name not in self._sizes]
            if unbound:
                raise NotExpressible(f"size {unbound[0]} is known only while it runs")
        try:
            return to_int_expr(expr)
        except UnsupportedError as error:
            raise NotExpressible(str(error)) from error

    def _add_memory(self, memory: Memory) -> int:
        self._memories.append(memory)
        return len(self._memories) - 1

    def _add_slot(
        self,
        name: str,
        memory: int,
        dtype: torch.dtype,
        shape: Sequence[Any],
        strides: Sequence[Any],
        offset: IntExpr = 0,
    ) -> int:
        self._slots.append(
            TensorSlot(
                name=name,
                memory=memory,
                dtype=str(dtype).removeprefix("torch."),
                shape=tuple(map(self.int_expr, shape)),
                strides=tuple(map(self.int_expr, strides)),
                offset=offset,
            )
        )
        self._slot_of[name] = len(self._slots) - 1
        return self._slot_of[name]

    def allocate(self, buffer: Any) -> int:
        """A new slot of its own memory for a buffer of the graph."""
        device = buffer.get_device()
        if device is None or (device.type, device.index or 0) != (
            "spyre",
            self._device,
        ):
            raise NotExpressible(f"{buffer.get_name()} is allocated on {device}")
        if isinstance(buffer, WorkspaceArg):
            if buffer.zero_mode is not WorkspaceZeroMode.UNINITIALIZED:
                raise NotExpressible(f"zeroed workspace {buffer.get_name()}")
            elems = self.int_expr(buffer.count)
        else:
            elems = self.int_expr(V.graph.get_allocation_storage_size(buffer))
        itemsize = get_dtype_size(buffer.get_dtype())
        memory = self._add_memory(
            Memory("temporary", bytes=IntOp("mul", (elems, itemsize)))
        )
        return self._add_slot(
            buffer.get_name(),
            memory,
            buffer.get_dtype(),
            buffer.get_size(),
            buffer.get_stride(),
        )

    def slot_for(self, node: Any) -> int:
        """The slot of a buffer or of a reinterpreted view of one."""
        while isinstance(node, ir.MutableBox):
            node = node.data
        if isinstance(node, ir.ReinterpretView):
            return self._view(node)
        name = node.get_name()
        if name not in self._slot_of:
            raise NotExpressible(f"buffer {name} has no memory of its own")
        return self._slot_of[name]

    def is_first_in_memory(self, slot: int) -> bool:
        """Whether no earlier buffer lies in the memory of `slot`."""
        memory = self._slots[slot].memory
        return all(earlier.memory != memory for earlier in self._slots[:slot])

    def _view(self, view: ir.ReinterpretView) -> int:
        base = self._slots[self._slot_of_name(view.get_name())]
        layout = view.get_layout()
        if get_dtype_size(layout.dtype) != get_dtype_size(getattr(torch, base.dtype)):
            raise NotExpressible(f"{view.get_name()} viewed as another item size")
        offset = self.int_expr(layout.offset)
        if base.offset != 0:
            offset = IntOp("add", (base.offset, offset))
        name = base.name
        before = self._slot_of[name]
        slot = self._add_slot(
            name, base.memory, layout.dtype, layout.size, layout.stride, offset
        )
        self._slot_of[name] = before
        return slot

    def _slot_of_name(self, name: str) -> int:
        if name not in self._slot_of:
            raise NotExpressible(f"{name} is not a buffer of the plan")
        return self._slot_of[name]

    def _leaves_with_output(self, memory: int) -> None:
        old = self._memories[memory]
        if old.source == "temporary":
            self._memories[memory] = Memory("output", old.bytes)

    # --- lines --------------------------------------------------------------------------------

    def _add_line(self, line: Any) -> None:
        if isinstance(line, (str, LineContext)):
            self._skip_text(line)
            return
        handler = _HANDLERS.get(type(line))
        if handler is not None:
            handler(self, line)
        elif hasattr(line, "add_to_plan"):
            line.add_to_plan(self)
        else:
            self._steps.extend(extern_steps(self, line))

    def _skip_text(self, line: Any) -> None:
        # Results are copied into slots of the planned layout, so nothing is left to assert.
        skipped = ("#", "assert_alignment(", "assert_size_stride(")
        text = line.strip() if isinstance(line, str) else ""
        if text and not text.startswith(skipped):
            raise NotExpressible(f"line {text!r}")

    def add_kernel(
        self,
        kernel: str,
        buffers: Sequence[str],
        scalars: Sequence[Any],
        writes: Sequence[int],
    ) -> None:
        """One launch, with the names of its buffers, its sizes, and which buffers it writes."""
        slots = tuple(self._slot_of_name(name) for name in buffers)
        sizes = tuple(self.int_expr(sympy.sympify(scalar)) for scalar in scalars)
        self._steps.append(KernelStep(kernel, slots, sizes, tuple(writes)))

    def _ignore(self, line: Any) -> None:
        """Frees and comments: lifetimes follow from the uses."""

    def _allocate(self, line: Any) -> None:
        if line.comm_buffer:
            raise NotExpressible("communication buffer")
        self.allocate(line.node)

    def _reuse(self, line: Any) -> None:
        old = self._slots[self._slot_of_name(line.node.get_name())]
        new = line.reused_as
        self._add_slot(
            new.get_name(),
            old.memory,
            new.get_dtype(),
            new.get_size(),
            new.get_stride(),
            old.offset,
        )

    def _alias(self, line: Any) -> None:
        if line.reused_as.get_name() not in V.graph.removed_buffers:
            self._slot_of[line.reused_as.get_name()] = self._view(line.layout.view)

    def _derive_size(self, line: Any) -> None:
        self._derived[line.arg.inner] = line.arg.inner_expr.subs(self._derived)

    def _define_sizes(self, line: Any) -> None:
        if line.unbacked_bindings:
            raise NotExpressible(
                f"sizes of {line.output_name} are known only while it runs"
            )

    def _multi_output(self, line: Any) -> None:
        self._slot_of_name(line.result_name)  # made by the extern call that returned it

    # --- outputs ------------------------------------------------------------------------------

    def _output(self, node: Any) -> Output:
        if isinstance(node, ir.NoneAsConstantBuffer):
            return None
        if isinstance(node, ir.ShapeAsConstantBuffer):
            return SizeOutput(self.int_expr(node.expr))
        while isinstance(node, ir.MutableBox):
            node = node.data
        if isinstance(node, ir.InputBuffer) and node.get_name() in self._inputs:
            return InputOutput(list(self._inputs).index(node.get_name()))
        return TensorOutput(self.slot_for(node))


_HANDLERS: dict[type, Callable[[PlanBuilder, Any], None]] = {
    lines.AllocateLine: PlanBuilder._allocate,
    lines.ReuseLine: PlanBuilder._reuse,
    lines.ReinterpretLine: PlanBuilder._alias,
    lines.FreeIfNotReusedLine: PlanBuilder._ignore,
    lines.FreeLine: PlanBuilder._ignore,
    lines.NullLine: PlanBuilder._ignore,
    lines.CommentLine: PlanBuilder._ignore,
    lines.AssertSizeStrideLine: PlanBuilder._ignore,
    lines.SymbolicCallArgLine: PlanBuilder._derive_size,
    lines.UnbackedSymbolDefsLine: PlanBuilder._define_sizes,
    lines.MultiOutputLine: PlanBuilder._multi_output,
}
