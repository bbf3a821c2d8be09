"""Tables of Inductor's graph patterns, built when a graph can match one of them.

Upstream builds all of them for the first graph of a process, whatever it holds: 0.25 s, most of it
for attention written as batched products and a softmax. Every pattern contains one of the operators
that are named here (a test looks at each), so a graph without them needs no table.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any

import torch
from torch._inductor import compile_fx
from torch._inductor.fx_passes import joint_graph, post_grad
from torch._inductor.fx_passes.fuse_attention import _sfdp_init
from torch._inductor.fx_passes.misc_patterns import _misc_patterns_init
from torch._inductor.fx_passes.pad_mm import _pad_mm_init
from torch._inductor.pattern_matcher import init_once_fakemode

aten = torch.ops.aten
_PRODUCTS = frozenset((aten.mm.default, aten.addmm.default, aten.bmm.default))
# The online softmax exists for Triton only.
_TRITON_SOFTMAX = frozenset((aten.amax.default,))
_ONEDNN_NAMESPACES = frozenset(("mkldnn", "onednn", "quantized_decomposed"))

Operators = Set[Any]


@dataclass(frozen=True)
class Table:
    """`build` fills it, once per device; `needed_by` says whether a graph may match."""

    build: Callable[..., None]
    needed_by: Callable[[Operators], bool]


def needs_products(operators: Operators) -> bool:
    return bool(operators & _PRODUCTS)


def needs_attention(operators: Operators) -> bool:
    return aten.bmm.default in operators


def needs_randperm(operators: Operators) -> bool:
    return aten.randperm.default in operators


def needs_onednn(operators: Operators) -> bool:
    if operators & _PRODUCTS:
        return True
    if operators & _TRITON_SOFTMAX and (
        torch.cuda.is_available() or torch.xpu.is_available()
    ):
        return True
    return any(getattr(o, "namespace", "") in _ONEDNN_NAMESPACES for o in operators)


def joint_tables() -> tuple[Table, ...]:
    """What joint_graph.lazy_init builds, in its order."""
    return (
        Table(_in_fake_mode(_pad_mm_init), needs_products),
        Table(_in_fake_mode(_sfdp_init), needs_attention),
        Table(_in_fake_mode(_misc_patterns_init), needs_randperm),
    )


def _in_fake_mode(table: Callable[..., None]) -> Callable[..., None]:
    """`table` in the surroundings that upstream gives it, once per device."""

    @functools.wraps(table)
    def build(input_device: torch.device | None = None) -> None:
        table(input_device)

    return init_once_fakemode(build)


def patch_pattern_tables() -> Callable[[], None]:
    """Gives the two functions that build tables the graph they are for. Returns an undo."""
    undo_joint = _patch(joint_graph, "joint_graph_passes", joint_tables())
    post_table = Table(post_grad.lazy_init, needs_onednn)
    undo_post = _patch(post_grad, "post_grad_passes", (post_table,))

    def undo() -> None:
        undo_joint()
        undo_post()

    return undo


def _patch(module: Any, passes: str, tables: tuple[Table, ...]) -> Callable[[], None]:
    """Replaces `module.lazy_init`, and the name by which compile_fx calls the passes."""
    run, build_all = getattr(compile_fx, passes), module.lazy_init
    current = threading.local()

    @functools.wraps(run)
    def run_passes(graph: torch.fx.GraphModule, *args: Any, **kwargs: Any) -> Any:
        current.operators = frozenset(node.target for node in graph.graph.nodes)
        try:
            return run(graph, *args, **kwargs)
        finally:
            del current.operators

    def lazy_init(*args: Any) -> None:
        operators = getattr(current, "operators", None)
        if operators is None:  # called by somebody else
            build_all(*args)
            return
        for table in tables:
            if table.needed_by(operators):
                table.build(*args)

    setattr(compile_fx, passes, run_passes)
    module.lazy_init = lazy_init

    def undo() -> None:
        setattr(compile_fx, passes, run)
        module.lazy_init = build_all

    return undo
