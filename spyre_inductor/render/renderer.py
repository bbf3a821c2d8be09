"""KernelPlans -> one C++ source file. Pure and deterministic."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from spyre_inductor.errors import PlanError
from spyre_inductor.plan import kernel_plan as kp

from . import cpp_types
from .banner import banner
from .code_lines import CodeLines
from .column_stages import ColumnRenderer, reduces_columns
from .environment import render_template
from .lane_analysis import LaneAnalysis
from .loop_nest import loop_nest
from .paired_lanes import paired_stores
from .stages import StageRenderer, staged_declarations
from .units import KernelSource, divide_in_units, unit_text, whole_text


@dataclass(frozen=True)
class KernelText:
    """What a kernel template gets: finished lines, without indentation of their own."""

    name: str
    banner: tuple[str, ...]
    arguments: tuple[str, ...]  # declarations of buffers and scalars
    body: tuple[str, ...]  # loops over cores, tiles, lanes
    headers: frozenset[str]


@dataclass(frozen=True)
class GroupMember:
    """One kernel of a group and where its arguments and checks begin in the group's."""

    name: str
    first_buffer: int
    first_scalar: int
    first_check: int


class ModuleText:
    """One source file that grows: kernels are rendered once, and units can be closed early.

    Args:
        graph_name: Of the compiled graph, for the reader.
    """

    def __init__(self, graph_name: str) -> None:
        self._graph_name = graph_name
        self._rendered: dict[str, KernelSource] = {}
        self._closed: list[str] = []  # texts of units
        self._names: set[str] = set()  # entry points in them

    def close_unit(self, plans: Sequence[kp.KernelPlan | kp.KernelGroup]) -> str:
        """Makes a unit of `plans`; returns the file's text so far, which stays as it is."""
        number = len(self._closed) + 1
        unit = unit_text(self._graph_name, number, list(map(self._render, plans)))
        self._closed.append(unit)
        self._names.update(plan.name for plan in plans)
        return "".join(self._closed)

    def is_closed(self, name: str) -> bool:
        """Whether the kernel or group is in a unit already."""
        return name in self._names

    def complete(self, plans: Sequence[kp.KernelPlan | kp.KernelGroup]) -> str:
        """The whole file. Raises as render_module does."""
        names = [plan.name for plan in plans]
        if len(set(names)) != len(names):
            raise PlanError(
                f"{self._graph_name}: two kernels have one name: {sorted(names)}"
            )
        rest = [plan for plan in plans if plan.name not in self._names]
        sources = {plan.name: self._render(plan) for plan in rest}
        texts = {name: source.text for name, source in sources.items()}
        units = divide_in_units(rest, texts)
        if not self._closed and len(units) <= 1:
            return whole_text(self._graph_name, list(sources.values()))
        by_name = {plan.name: plan for plan in rest}
        for unit in units:
            self.close_unit([by_name[name] for name in unit])
        return "".join(self._closed)

    def _render(self, plan: kp.KernelPlan | kp.KernelGroup) -> KernelSource:
        if plan.name not in self._rendered:
            self._rendered[plan.name] = _kernel_source(plan)
        return self._rendered[plan.name]


def render_module(
    plans: Sequence[kp.KernelPlan | kp.KernelGroup],
    graph_name: str,
    begun: ModuleText | None = None,
) -> str:
    """One source file with an entry point per plan, in order.

    Args:
        plans: Verified plans, and groups of them after their members; the names become extern "C"
            symbols and must differ.
        graph_name: Of the compiled graph, for the reader.
        begun: What has been rendered of it already.

    Raises:
        PlanError: a plan cannot be expressed, or two plans have one name.
        TemplateError: a plan names a template that does not exist.
    """
    return (begun or ModuleText(graph_name)).complete(plans)


def _kernel_source(plan: kp.KernelPlan | kp.KernelGroup) -> KernelSource:
    if isinstance(plan, kp.KernelGroup):
        calls = tuple(kernel.name for kernel in plan.kernels)
        return KernelSource(plan.name, _group_text(plan), calls=calls)
    text = kernel_text(plan)
    template = f"kernels/{plan.template}.cpp.jinja"
    return KernelSource(plan.name, render_template(template, kernel=text), text.headers)


def _group_text(group: kp.KernelGroup) -> str:
    kernels = []
    buffers = scalars = checks = 0
    for plan in group.kernels:
        kernels.append(GroupMember(plan.name, buffers, scalars, checks))
        buffers += len(plan.buffers)
        scalars += len(plan.scalars)
        checks += len(plan.checks)
    count = len(group.members)
    members, tail = kernels[:count], kernels[count:]
    return render_template(
        "kernels/group.cpp.jinja", name=group.name, members=members, tail=tail
    )


def kernel_text(plan: kp.KernelPlan) -> KernelText:
    """The parts of one kernel; raises PlanError when the plan cannot be expressed."""
    analysis = LaneAnalysis(plan)
    lines = CodeLines(depth=1)
    by_columns = reduces_columns(analysis)
    if not by_columns:
        analysis.paired = paired_stores(analysis)
    stages: StageRenderer | ColumnRenderer = (
        ColumnRenderer(analysis, lines)
        if by_columns
        else StageRenderer(analysis, lines)
    )
    stages.headers |= cpp_types.memory_headers([b.dtype for b in plan.buffers])
    if analysis.paired is not None:
        stages.headers.add("pairs.h")
    for declaration in staged_declarations(analysis):
        lines.add(declaration)
    with ExitStack() as stack:
        for opening, closing in loop_nest(plan, by_columns, analysis.paired).levels:
            if closing:
                stack.enter_context(lines.block(opening, closing))
            else:
                lines.add(opening)
        stages.render()
    if "stream.h" in stages.headers:
        lines.add("stream_fence();")
    return KernelText(
        name=plan.name,
        banner=tuple(banner(plan)),
        arguments=tuple(_arguments(plan)),
        body=tuple(lines.lines),
        headers=frozenset(stages.headers),
    )


def _arguments(plan: kp.KernelPlan) -> list[str]:
    lines = []
    for slot, argument in enumerate(plan.buffers):
        const = "const " if argument.access == "read" else ""
        kind = f"{const}{cpp_types.memory_type(argument.dtype)}"
        lines.append(f"{kind}* const {argument.name} = buffer<{kind}>(args, {slot});")
    for slot, scalar in enumerate(plan.scalars):
        if scalar.dtype == "float64":
            lines.append(f"const f64 {scalar.name} = scalar_f64(args, {slot});")
        else:
            lines.append(f"const i64 {scalar.name} = args->scalars[{slot}];")
    return lines
