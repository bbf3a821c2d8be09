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
from .stages import StageRenderer, staged_declarations
from .units import divide_in_units


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


def render_module(
    plans: Sequence[kp.KernelPlan | kp.KernelGroup], graph_name: str
) -> str:
    """One source file with an entry point per plan, in order.

    Args:
        plans: Verified plans, and groups of them after their members; the names become extern "C"
            symbols and must differ.
        graph_name: Of the compiled graph, for the reader.

    Raises:
        PlanError: a plan cannot be expressed, or two plans have one name.
        TemplateError: a plan names a template that does not exist.
    """
    names = [plan.name for plan in plans]
    if len(set(names)) != len(names):
        raise PlanError(f"{graph_name}: two kernels have one name: {sorted(names)}")
    headers: set[str] = set()
    kernels = []
    for plan in plans:
        if isinstance(plan, kp.KernelGroup):
            kernels.append(_group_text(plan))
            continue
        text = kernel_text(plan)
        headers |= text.headers
        template = f"kernels/{plan.template}.cpp.jinja"
        kernels.append(render_template(template, kernel=text))
    texts = dict(zip(names, kernels, strict=True))
    return render_template(
        "module.cpp.jinja",
        graph_name=graph_name,
        names=names,
        headers=sorted(headers),
        units=[
            [texts[name] for name in unit] for unit in divide_in_units(plans, texts)
        ],
    )


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
    stages: StageRenderer | ColumnRenderer = (
        ColumnRenderer(analysis, lines)
        if by_columns
        else StageRenderer(analysis, lines)
    )
    stages.headers |= cpp_types.memory_headers([b.dtype for b in plan.buffers])
    for declaration in staged_declarations(analysis):
        lines.add(declaration)
    with ExitStack() as stack:
        for opening, closing in loop_nest(plan, by_columns).levels:
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
