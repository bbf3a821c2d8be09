"""Values taken from an input before the graph writes it are taken from a copy.

Two steps of Inductor let such a value see the later write: reinplacing computes a scatter inside
the input although its result is used for itself (pytorch issue 198094), and a read through another
dtype is no reader that a write has to wait for (issue 198101). Runs before both.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

aten = torch.ops.aten
_SCATTERS = frozenset(
    (
        *(aten.slice_scatter.default, aten.select_scatter.default),
        *(aten.diagonal_scatter.default, aten.as_strided_scatter.default),
    )
)


def copy_before_writes(graph: torch.fx.Graph) -> None:
    """Clones a written input in front of its scatters and of views in another dtype."""
    for write in list(graph.find_nodes(op="call_function", target=aten.copy_.default)):
        source = write.args[0]
        if not isinstance(source, torch.fx.Node) or source.op != "placeholder":
            continue
        written = set(_scatters_of(write.args[1]))
        for alias in list(_aliases(source)):
            for user in list(alias.users):
                scatters = user.target in _SCATTERS and user.args[0] is alias
                if user.target is aten.view.dtype or (scatters and user not in written):
                    _copy_in_front(graph, alias, user)


def _scatters_of(value: object) -> Iterator[torch.fx.Node]:
    """The scatters that make `value` one after the other: these may happen in place."""
    while isinstance(value, torch.fx.Node) and value.target in _SCATTERS:
        yield value
        value = value.args[0]


def _aliases(node: torch.fx.Node) -> Iterator[torch.fx.Node]:
    """`node` and its views of the same dtype."""
    yield node
    for user in node.users:
        if _is_view(user) and user.target is not aten.view.dtype:
            yield from _aliases(user)


def _is_view(node: torch.fx.Node) -> bool:
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    infos = (argument.alias_info for argument in node.target._schema.arguments)
    return any(info is not None and not info.is_write for info in infos)


def _copy_in_front(
    graph: torch.fx.Graph, value: torch.fx.Node, user: torch.fx.Node
) -> None:
    with graph.inserting_before(user):
        copied = graph.call_function(aten.clone.default, (value,))
    copied.meta = dict(value.meta, val=torch.empty_like(value.meta["val"]))
    user.replace_input_with(value, copied)
