"""Where a kernel comes from: FX nodes and the user's lines."""

from __future__ import annotations

import re
from typing import Any

from spyre_inductor.plan.kernel_plan import SourceNote

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


def source_notes(kernel: Any) -> tuple[SourceNote, ...]:
    """One note per FX node that the kernel's scheduler nodes originate from, in graph order."""
    origins: dict[str, SourceNote] = {}
    for node in kernel.features.scheduler_nodes():
        if node.node is None:
            continue
        fx_nodes = [n for n in node.node.get_origins() if n.op == "call_function"]
        for fx_node in sorted(fx_nodes, key=lambda n: n.name):
            note = SourceNote(fx_node.name, str(fx_node.target), _location(fx_node))
            origins.setdefault(fx_node.name, note)
    return tuple(origins.values())


def _location(fx_node: Any) -> str:
    """ "file:line: code" of the innermost frame that Dynamo recorded, or ""."""
    trace = (fx_node.meta.get("stack_trace") or "").rstrip()
    frames = list(_FRAME.finditer(trace))
    if not frames:
        return ""
    last = frames[-1]
    code = trace[last.end() :].split("\n")
    text = code[1].strip() if len(code) > 1 else ""
    name = last["file"].rsplit("/", 1)[-1]
    return f"{name}:{last['line']}: {text}"
