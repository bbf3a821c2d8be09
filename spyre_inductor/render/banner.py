"""What a reader wants to know before a kernel's first line."""

from __future__ import annotations

from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.plan.expr import IntExpr

from .index_text import index_text


def banner(plan: kp.KernelPlan) -> list[str]:
    """Lines: source operators with user lines, buffers, loops, division, LX tile."""
    lines = [f"Kernel {plan.name}"]
    lines += _sources(plan.sources)
    lines += [_buffer(argument) for argument in plan.buffers]
    lines += [_scalar(argument) for argument in plan.scalars]
    lines += _loops(plan)
    lines.append(_tile(plan.tile))
    return lines


def _sources(notes: tuple[kp.SourceNote, ...]) -> list[str]:
    """Operators by the user's line they come from, in order of first appearance."""
    by_line: dict[str, dict[str, None]] = {}
    for note in notes:
        by_line.setdefault(note.location, {})[note.op] = None
    return [
        f"  from     {', '.join(ops)}" + (f"  {line}" if line else "")
        for line, ops in by_line.items()
    ]


def _shape(extents: tuple[IntExpr, ...]) -> str:
    return "[" + ", ".join(index_text(extent) for extent in extents) + "]"


def _buffer(argument: kp.BufferArgument) -> str:
    names = " = ".join(argument.buffers)
    return (
        f"  {argument.access:8} {argument.name}: {argument.dtype}{_shape(argument.shape)} "
        f"strides {_shape(argument.strides)}  {names}"
    )


def _scalar(argument: kp.ScalarArgument) -> str:
    hint = "" if argument.hint is None else f", {argument.hint} when compiled"
    return f"  scalar   {argument.name}: {argument.dtype}{hint}"


def _loops(plan: kp.KernelPlan) -> list[str]:
    lines = []
    for title, axes in (("parallel", plan.axes), ("reduce", plan.reduction_axes)):
        if axes:
            text = ", ".join(
                f"{axis.name} < {index_text(axis.extent)}" for axis in axes
            )
            lines.append(f"  {title:8} {text}")
    division = plan.division
    over = " * ".join(division.axes) or "nothing"
    lines.append(f"  cores    {over} over {division.cores}, grain {division.grain}")
    lines.append(f"  lanes    {plan.lane_axis or 'none: scalar code'}")
    return lines


def _tile(tile: kp.LxTile) -> str:
    extents = ", ".join(
        f"{name}: {index_text(extent)}" for name, extent in tile.extents
    )
    staged = f", keeps {', '.join(tile.staged)}" if tile.staged else ""
    return f"  LX tile  {extents or 'all'} ({tile.bytes} bytes{staged})"
