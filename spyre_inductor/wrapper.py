"""SpyreWrapperCodegen: the Python that allocates buffers and calls a graph's kernels.

The scheduling hands in each verified KernelPlan. When the graph is complete, all plans are rendered
into one C++ source, its build starts in a thread, and the source goes into the generated code.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import sympy
import torch
from torch._inductor import config as inductor_config
from torch._inductor.codegen.common import WorkspaceArg
from torch._inductor.codegen.wrapper import (
    MemoryPlanningLine,
    PythonWrapperCodegen,
    SubgraphPythonWrapperCodegen,
    WrapperLine,
    pexpr,
)
from torch._inductor.ir import ComputedBuffer
from torch._inductor.utils import IndentedBuffer
from torch._inductor.virtualized import V

from . import config
from .debug.graph_folder import FusionRecord, write_repro, write_stage
from .launch.async_compile import begin_build, pack_plans, start_ahead
from .launch.extern_steps import NotExpressible, extern_operator
from .launch.plan_builder import PlanBuilder
from .launch.signature import KernelSignature, signature_of
from .launch.statistics import counts
from .logs import artifact_logger
from .plan.json_codec import to_json
from .plan.kernel_plan import KernelGroup, KernelPlan
from .plan.launch_plan import LaunchPlan
from .render.renderer import ModuleText, render_module

log = artifact_logger(__name__, "spyre_plan")
fallback_log = artifact_logger(__name__, "spyre_fallback")
launch_log = artifact_logger(__name__, "spyre_launch")

# A compiler that starts early reads the headers once more, which is worth it for some kernels.
KERNELS_AHEAD = 4

_IMPORTS = """
from torch_spyre._C import empty_strided as empty_strided_spyre, give_to_host, lend_to_card
from spyre_inductor.launch.loader import SpyreModule, planned_call
"""


@dataclasses.dataclass
class SpyreKernelCallLine(WrapperLine):
    """One launch: `args` are buffer names, then sizes, in the plan's order."""

    wrapper: PythonWrapperCodegen
    plan: KernelPlan | KernelGroup
    kernel_name: str
    args: tuple[Any, ...]

    def codegen(self, code: IndentedBuffer) -> None:
        args = ", ".join(_as_python(arg) for arg in self.args)
        code.writeline(f"{self.kernel_name}({args})")

    def add_to_plan(self, builder: PlanBuilder) -> None:
        """The same launch as a step of the graph's LaunchPlan."""
        count = len(self.plan.buffers)
        if any(scalar.dtype != "int64" for scalar in self.plan.scalars):
            raise NotExpressible(f"kernel {self.kernel_name} takes a float")
        writes = [i for i, b in enumerate(self.plan.buffers) if b.access != "read"]
        builder.add_kernel(
            self.kernel_name, self.args[:count], self.args[count:], writes
        )


def _as_python(arg: Any) -> str:
    if isinstance(arg, sympy.Expr):
        return pexpr(V.graph.sizevars.simplify(arg))
    return str(arg)


class _SpyreWrapperMixin:
    """What the wrappers of a graph and of its subgraphs share."""

    def make_allocation(
        self,
        name: str,
        device: torch.device,
        dtype: torch.dtype,
        shape: Sequence[Any],
        stride: Sequence[Any],
        allocation_shape: Sequence[Any] | None = None,
        is_pinned: bool = False,
    ) -> str:
        """`empty_strided` of the extension: half the time of torch's, and names the card."""
        if (
            device.type != "spyre"
            or inductor_config.test_configs.track_memory_lifecycle
        ):
            return super().make_allocation(  # type: ignore[misc]
                name, device, dtype, shape, stride, allocation_shape, is_pinned
            )
        as_tuple = self.codegen_python_shape_tuple  # type: ignore[attr-defined]
        size = as_tuple(shape)
        allocated = as_tuple(shape if allocation_shape is None else allocation_shape)
        index = -1 if device.index is None else device.index
        line = f"{name} = empty_strided_spyre({allocated}, {as_tuple(stride)}, {dtype}, {index})"
        if size != allocated:
            line += f".as_strided({size}, {as_tuple(stride)})"
        return line

    def memory_plan_reuse(self) -> None:
        """Without releases of workspaces at the very end: upstream drops such lines as pointless,
        and asks for a name that a workspace has not."""
        lines = self.lines  # type: ignore[attr-defined]
        end = len(lines)
        while end and isinstance(lines[end - 1], MemoryPlanningLine):
            end -= 1
        lines[end:] = [
            line
            for line in lines[end:]
            if not isinstance(getattr(line, "node", None), WorkspaceArg)
        ]
        super().memory_plan_reuse()  # type: ignore[misc]

    def define_spyre_kernel(self, plan: KernelPlan) -> str:
        """Adds a kernel to the graph's module; returns the name to call it by.

        A plan that differs from an earlier one in names and notes only shares its kernel.
        """
        root = self._root()
        content = _content(plan)
        if content not in root.spyre_names:
            root.spyre_plans.append(plan)
            root.spyre_names[content] = plan.name
        return root.spyre_names[content]

    def generate_spyre_kernel_call(self, plan: KernelPlan, args: Sequence[Any]) -> None:
        """Launches `plan`'s kernel (defined before) with buffer names and sizes, in plan order."""
        expected = len(plan.buffers) + len(plan.scalars)
        assert len(args) == expected, (plan.name, expected, args)
        name = self._root().spyre_names[_content(plan)]
        self._root().spyre_launched.add(name)
        self.writeline(SpyreKernelCallLine(self, plan, name, tuple(args)))  # type: ignore
        self._root().compile_settled()

    def define_spyre_group(self, group: KernelGroup) -> KernelGroup:
        """Adds a group of kernels (defined before); returns it as it is to be launched."""
        root = self._root()
        content = KernelGroup("", *(tuple(map(_content, k)) for k in _halves(group)))
        members, tail = (
            tuple(
                dataclasses.replace(kernel, name=root.spyre_names[_content(kernel)])
                for kernel in kernels
            )
            for kernels in _halves(group)
        )
        named = KernelGroup(group.name, members, tail)
        known = root.spyre_groups.setdefault(content, named)
        return dataclasses.replace(named, name=known.name)

    def generate_spyre_group_call(
        self, group: KernelGroup, args: Sequence[Any]
    ) -> None:
        """Launches a group (defined before): all buffer names, then all sizes."""
        self._root().spyre_launched.add(group.name)
        line = SpyreKernelCallLine(self, group, group.name, tuple(args))  # type: ignore
        self.writeline(line)  # type: ignore
        self._root().compile_settled()

    def _root(self) -> SpyreWrapperCodegen:
        raise NotImplementedError

    @staticmethod
    def create(
        is_subgraph: bool,
        subgraph_name: str | None,
        parent_wrapper: PythonWrapperCodegen | None,
        partition_signatures: Any = None,
    ) -> PythonWrapperCodegen:
        if not is_subgraph:
            return SpyreWrapperCodegen()
        assert subgraph_name is not None and parent_wrapper is not None
        return SpyreSubgraphWrapperCodegen(
            subgraph_name, parent_wrapper, partition_signatures
        )


def _content(plan: KernelPlan) -> KernelPlan:
    """The plan without what does not change its kernel: names of graph buffers, hints, notes."""
    return dataclasses.replace(
        plan,
        name="",
        sources=(),
        buffers=tuple(dataclasses.replace(b, buffers=()) for b in plan.buffers),
        scalars=tuple(dataclasses.replace(s, hint=None) for s in plan.scalars),
    )


def _halves(group: KernelGroup) -> tuple[tuple[KernelPlan, ...], ...]:
    return group.members, group.tail


class SpyreWrapperCodegen(_SpyreWrapperMixin, PythonWrapperCodegen):
    """Wrapper of a whole graph; owns the plans of its subgraphs too."""

    def __init__(self) -> None:
        self.spyre_plans: list[KernelPlan] = []
        self.spyre_names: dict[KernelPlan, str] = {}
        self.spyre_groups: dict[KernelGroup, KernelGroup] = {}
        self.spyre_launched: set[str] = set()
        self.launch_plan: LaunchPlan | None = None
        self._text = ModuleText(_graph_kind())
        self._ahead = start_ahead() if _has_kernels() else None
        # The scheduler that decides about fusion is made after its wrapper.
        self._fusion_record = FusionRecord.start()
        super().__init__()

    def _root(self) -> SpyreWrapperCodegen:
        return self

    def write_header(self) -> None:
        super().write_header()
        self.imports.splice(_IMPORTS, strip=True)

    def write_args(self, input_names: list[str]) -> None:
        if config._cpu_resident:
            self.prefix.writeline(f"lend_to_card(args, {self._card()})")
        super().write_args(input_names)

    def run_wrapper_ir_passes(self, is_inference: bool) -> None:
        super().run_wrapper_ir_passes(is_inference)
        for line in self.lines:
            if (operator := extern_operator(line)) is not None:
                counts["extern_calls"] += 1
                fallback_log.debug(
                    "%s runs eagerly in the %s graph", operator, _graph_kind()
                )
        try:
            builder = PlanBuilder(
                self.lines,
                self.get_graph_inputs(),
                self.get_graph_outputs(),
                self._card(),
                config._cpu_resident,
            )
            self.launch_plan = builder.build(_graph_kind())
        except NotExpressible as reason:
            counts["graphs_by_lines"] += 1
            launch_log.info("graph runs line by line: %s", reason)
            write_stage("spyre_launch_plan.json", f"// line by line: {reason}\n")
        else:
            write_stage("spyre_launch_plan.json", to_json(self.launch_plan))

    def generate_after_suffix(self, result: IndentedBuffer) -> None:
        super().generate_after_suffix(result)
        if self.launch_plan is None:
            return
        packed = _wrapped(pack_plans(to_json(self.launch_plan)))
        result.writeline("")
        result.writeline(
            "# The lines above as data, replayed with one enqueue per call."
        )
        result.writeline(f"call = planned_call({packed}, call, globals())")

    def generate_return(self, output_refs: list[str]) -> None:
        # Every line, also of subgraphs, has been generated by now, and the header is still open.
        if self.spyre_plans:
            self._write_kernels()
        if self._fusion_record is not None:
            self._fusion_record.write()
        write_repro(V.graph)
        if not config._cpu_resident:
            super().generate_return(output_refs)
            return
        outputs = "".join(f"{ref}, " for ref in output_refs)
        self.wrapper_call.writeline(f"return give_to_host(({outputs}), {self._card()})")

    def _card(self) -> int:
        """Index of the card that the graph runs on."""
        return next(iter(V.graph.device_idxs), 0) or 0

    def compile_settled(self) -> None:
        """Lets a compiler begin with the kernels so far that no later group will call."""
        if self._ahead is None or not self._ahead.is_free():
            return
        groups = [g for g in self.spyre_groups.values() if self._is_new(g.name)]
        settled = {kernel.name for group in groups for kernel in group.kernels}
        settled |= self.spyre_launched
        plans = [
            plan
            for plan in self.spyre_plans
            if plan.name in settled and self._is_new(plan.name)
        ]
        if len(plans) >= KERNELS_AHEAD:
            self._ahead.give(self._text.close_unit([*plans, *groups]))

    def _is_new(self, name: str) -> bool:
        return not self._text.is_closed(name)

    def _write_kernels(self) -> None:
        kernels = [*self.spyre_plans, *self.spyre_groups.values()]
        source = render_module(kernels, _graph_kind(), self._text)
        if self._ahead is not None:
            self._ahead.give_last(source)
        plans_json = "[" + ",\n".join(map(to_json, self.spyre_plans)) + "]"
        log.debug("%s", plans_json)
        write_stage("spyre_plan.json", plans_json)
        write_stage("spyre_kernel.cpp", source)
        begin_build(source, plans_json, self._ahead)
        self.header.writeline("")
        plans = _wrapped(pack_plans(plans_json))
        deferred = self.launch_plan is not None
        self.header.writeline(
            f"spyre_module = SpyreModule({_literal(source)}, plans={plans}, {deferred=})"
        )
        for kernel in kernels:
            if kernel.name in self.spyre_launched:
                self.header.writeline(_kernel_definition(signature_of(kernel)))


def _has_kernels() -> bool:
    return any(isinstance(o, ComputedBuffer) for o in V.graph.operations)


def _graph_kind() -> str:
    # Not the graph's number: the same kernels must have the same source in every process.
    if V.graph.is_backward:
        return "backward"
    return "inference" if V.graph.is_inference else "forward"


def _literal(source: str) -> str:
    """A raw triple-quoted string when the text allows it, so that the code reads as C++."""
    if "'''" in source or source.endswith(("'", "\\")):
        return repr(source)
    return f"r'''\n{source}'''[1:]"


def _wrapped(packed: str) -> str:
    """A string literal in lines of 90 characters."""
    pieces = [packed[i : i + 90] for i in range(0, len(packed), 90)]
    return "\n".join(("(", *(f"    {piece!r}" for piece in pieces), ")"))


def _kernel_definition(kernel: KernelSignature) -> str:
    parts = [repr(kernel.name), f"buffers={kernel.buffers!r}"]
    if kernel.scalars:
        parts.append(f"scalars={kernel.scalars!r}")
    parts.append(f"cores={kernel.cores}")
    if kernel.cores_fixed:
        parts.append("cores_fixed=True")
    if kernel.workspace_bytes:
        parts.append(f"workspace_bytes={kernel.workspace_bytes}")
    if kernel.checks:
        parts.append(f"checks={kernel.checks!r}")
    parts += [f"points={kernel.points_code!r}", f"ns_per_point={kernel.ns_per_point}"]
    return f"{kernel.name} = spyre_module.kernel({', '.join(parts)})"


class SpyreSubgraphWrapperCodegen(_SpyreWrapperMixin, SubgraphPythonWrapperCodegen):
    """Wrapper of a branch, loop body or partition; its kernels go to the root's module."""

    def _root(self) -> SpyreWrapperCodegen:
        root = self.get_root_graph()
        assert isinstance(root, SpyreWrapperCodegen)
        return root
