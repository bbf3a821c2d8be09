"""Operators whose lowering gives another dtype than eager mode, and than the fake tensors say."""

from __future__ import annotations

import torch

from .eager_results import MARK

aten = torch.ops.aten


def keep_result_types(graph: torch.fx.Graph) -> None:
    """Rewrites them so that the dtype of each node's `val` is what the node gives."""
    for target in (aten.any.default, aten.any.dim, aten.any.dims):
        for node in graph.find_nodes(op="call_function", target=target):
            if node.meta["val"].dtype is torch.uint8:
                _convert_behind(graph, node)
    for node in graph.find_nodes(op="call_function", target=aten.ldexp.Tensor):
        _as_product(graph, node)


def _convert_behind(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """`any` of uint8 is uint8; its lowering gives bool."""
    convert = torch.ops.prims.convert_element_type.default
    with graph.inserting_after(node):
        converted = graph.call_function(convert, (node, torch.uint8))
    converted.meta = dict(node.meta)
    node.replace_all_uses_with(converted, lambda user: user is not converted)


def _as_product(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """ldexp(x, n) is x * 2**n, promoted; its lowering takes that of x (pytorch issue 197091)."""
    x, n = node.args
    values = [arg.meta["val"] for arg in (x, n)]
    if values[0].dtype.is_floating_point and not values[1].dtype.is_floating_point:
        return
    with graph.inserting_before(node):
        power = graph.call_function(aten.pow.Scalar, (2.0, n))
    power.meta = {**node.meta, "val": torch.pow(2.0, values[1]), MARK: True}
    node.target, node.args = aten.mul.Tensor, (x, power)
