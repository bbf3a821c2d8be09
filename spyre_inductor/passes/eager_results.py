"""Results of 16-bit operators become what eager mode would have left in memory.

Eager mode rounds once at the end of each operator, however much one does inside. While a graph is
traced, `eager_rounding.py` marks the node that ends an operator; this pass, after all others, puts
`spyre::round` behind it, so that neither a decomposition nor a lowering of several steps rounds on
its way. Python numbers take the tensor's type where the CPU's kernel converts them.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import torch
from torch._inductor.ir import Pointwise, TensorBox
from torch._inductor.lowering import register_lowering
from torch._inductor.virtualized import ops

MARK = "spyre_ends_operator"
NARROW = (torch.bfloat16, torch.float16)

aten = torch.ops.aten
# Arithmetic without the tag `pointwise` or `reduction`.
_ARITHMETIC = frozenset(
    (
        *(aten.cumsum, aten.cumprod, aten.logcumsumexp, aten.var_mean, aten.std_mean),
        *(aten._softmax, aten._log_softmax, aten.index_add, aten.scatter_add),
        *(aten.scatter_reduce, aten.index_put, aten.constant_pad_nd, operator.getitem),
    )
)
# Kernels of the CPU that convert a Python number to a 16-bit tensor's type before they compute
# (aten/src/ATen/native/cpu: BinaryOpsKernel.cpp, PowKernel.cpp; others keep it in float32).
_CONVERTS_NUMBERS = frozenset(
    f"aten.{name}" for name in "add sub rsub remainder fmod pow xlogy".split()
)


@functools.cache
def round_operator() -> torch._ops.OpOverload:
    """`spyre::round(x)`: the 16-bit values of x as memory holds them; defined at first use."""
    torch.library.define(
        "spyre::round", "(Tensor x) -> Tensor", tags=(torch.Tag.pointwise,)
    )
    torch.library.impl("spyre::round", "CompositeExplicitAutograd", torch.clone)
    operation = torch.ops.spyre.round.default
    register_lowering(operation, type_promotion_kind=None)(_lower_round)
    return operation


def _lower_round(x: TensorBox) -> TensorBox:
    load, dtype = x.make_loader(), x.get_dtype()
    return Pointwise.create(
        device=x.get_device(),
        dtype=dtype,
        inner_fn=lambda index: ops.to_dtype(
            load(index), dtype, use_compute_types=False
        ),
        ranges=x.get_size(),
    )


def round_results(graph: torch.fx.Graph) -> None:
    """Puts `spyre::round` behind what ends a 16-bit operator, and rounds numbers in place."""
    for node in list(graph.nodes):
        if node.op != "call_function" or not _is_narrow(node):
            continue
        _convert_numbers(node)
        _round_quotient(graph, node)
        if _packet(node) in _ARITHMETIC or _has_tag(node):
            _round_behind(graph, node)


def _round_behind(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    ends = node.meta.get(MARK) or node.target is operator.getitem
    outside = [
        user
        for user in node.users
        if ends or (user.meta.get(MARK) and _operator_of(user) != _operator_of(node))
    ]
    if all(user.op == "output" for user in outside):
        return  # memory rounds
    with graph.inserting_after(node):
        rounded = graph.call_function(round_operator(), (node,))
    rounded.meta = {k: v for k, v in node.meta.items() if k != MARK}
    for user in outside:
        user.replace_input_with(node, rounded)


def _operator_of(node: torch.fx.Node) -> tuple[Any, ...]:
    """What eager mode would have called; the nodes of one decomposition have it in common."""
    origin = node.meta.get("from_node") or [None]
    return _called(node), node.meta.get("seq_nr"), getattr(origin[0], "name", None)


def _called(node: torch.fx.Node) -> str:
    """`aten.lerp` for each node that came of `aten.lerp.Scalar`; by name, since meta is copied."""
    called = node.meta.get("original_aten") or node.target
    return str(getattr(called, "overloadpacket", called))


def _is_narrow(node: torch.fx.Node) -> bool:
    value = node.meta.get("val")
    return (
        isinstance(value, torch.Tensor)
        and value.dtype in NARROW
        and value.device.type == "spyre"
    )


def _packet(node: torch.fx.Node) -> Any:
    return getattr(node.target, "overloadpacket", node.target)


def _has_tag(node: torch.fx.Node) -> bool:
    tags = getattr(node.target, "tags", ())
    return torch.Tag.pointwise in tags or torch.Tag.reduction in tags


def _convert_numbers(node: torch.fx.Node) -> None:
    dtype = node.meta["val"].dtype
    if node.target is aten.full.default:
        node.update_arg(1, _converted(node.args[1], dtype))
    elif node.meta.get(MARK) and _called(node) in _CONVERTS_NUMBERS:
        node.args = tuple(_converted(value, dtype) for value in node.args)
        node.kwargs = {k: _converted(value, dtype) for k, value in node.kwargs.items()}


def _round_quotient(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """The CPU rounds a / b before it truncates, unless b is a number."""
    truncates = node.kwargs.get("rounding_mode") == "trunc"
    if node.target is not aten.div.Tensor_mode or not truncates:
        return
    if not all(isinstance(arg, torch.fx.Node) for arg in node.args):
        return
    with graph.inserting_before(node):
        quotient = graph.call_function(aten.div.Tensor, node.args)
        rounded = graph.call_function(round_operator(), (quotient,))
    quotient.meta = rounded.meta = {k: v for k, v in node.meta.items() if k != MARK}
    node.target, node.args, node.kwargs = aten.trunc.default, (rounded,), {}


def _converted(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return torch.tensor(value, dtype=dtype).item()
