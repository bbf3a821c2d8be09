"""A model that stays on the CPU: its aten graphs, forward and backward, are moved to the card.

Device memory is host memory, so the generated code lends the CPU tensors to the card and gives the
results back without a copy (wrapper.py writes these two calls). A graph that names the spyre device
itself keeps its meaning and is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._dynamo.utils import count_calls
from torch._inductor.compile_fx import compile_fx_inner
from torch._inductor.fx_passes.post_grad import view_to_reshape
from torch._inductor.output_code import OutputCode
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.passes.fake_tensor_prop import FakeTensorProp
from torch.utils import _pytree as pytree

from torch_spyre import _C

from .. import config

_CPU = torch.device("cpu")


def compile_inner(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    own_options: Mapping[str, Any],
    **kwargs: Any,
) -> OutputCode:
    """Inductor's compile_fx_inner, after moving a CPU graph to the current card.

    `config._cpu_resident` enters the key of FxGraphCache: the same graph on spyre tensors has other
    generated code.
    """
    move = is_cpu_graph(gm, example_inputs)
    if move:
        example_inputs = move_to_card(gm, example_inputs)
    with config.patch({**own_options, "_cpu_resident": move}):  # type: ignore[attr-defined]
        return compile_fx_inner(gm, example_inputs, **kwargs)


def is_cpu_graph(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> bool:
    """True when there is work, every tensor is on the CPU, and no node names another device."""
    if count_calls(gm.graph) == 0:
        return False
    return all(device == _CPU for device in _devices(gm, example_inputs))


def _devices(
    gm: torch.fx.GraphModule, example_inputs: Sequence[Any]
) -> set[torch.device]:
    found = {x.device for x in example_inputs if isinstance(x, torch.Tensor)}
    for module in _graph_modules(gm):
        for node in module.graph.nodes:
            leaves = pytree.tree_leaves((node.meta.get("val"), node.args, node.kwargs))
            found.update(leaf for leaf in leaves if isinstance(leaf, torch.device))
            found.update(
                leaf.device for leaf in leaves if isinstance(leaf, torch.Tensor)
            )
    return found


def move_to_card(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> list[Any]:
    """Rewrites `gm` in place for the current card; returns fake inputs on it.

    Shapes and strides of every node are propagated again, since an operator may choose its
    layout by device. A backward graph's inputs may lie in other strides than those it was traced
    with (the forward chose them), so that a view may have to copy: Inductor's own step for this.
    """
    view_to_reshape(gm)
    card = torch.device("spyre", torch.spyre.current_device())
    for module in _graph_modules(gm):
        _move_nodes(module, card)
        _move_constants(module, card)
        module.recompile()
    mode = next(
        (x.fake_mode for x in example_inputs if isinstance(x, FakeTensor)), None
    ) or torch._guards.detect_fake_mode(example_inputs)
    if mode is None:
        mode = FakeTensorMode(allow_non_fake_inputs=True)
    moved = [_fake_on(card, x, mode) for x in example_inputs]
    allow_constants = mode.allow_non_fake_inputs
    mode.allow_non_fake_inputs = True  # constants of the graph are real tensors
    try:
        FakeTensorProp(gm, mode=mode).propagate_dont_convert_inputs(*moved)
    finally:
        mode.allow_non_fake_inputs = allow_constants
    return moved


def _graph_modules(gm: torch.fx.GraphModule) -> list[torch.fx.GraphModule]:
    """`gm` and the bodies of its control flow."""
    return [m for m in gm.modules() if isinstance(m, torch.fx.GraphModule)]


def _move_nodes(gm: torch.fx.GraphModule, card: torch.device) -> None:
    def moved(value: Any) -> Any:
        return card if isinstance(value, torch.device) and value == _CPU else value

    for node in gm.graph.nodes:
        node.args = pytree.tree_map(moved, node.args)
        node.kwargs = pytree.tree_map(moved, node.kwargs)


def _move_constants(gm: torch.fx.GraphModule, card: torch.device) -> None:
    for node in gm.graph.find_nodes(op="get_attr"):
        value = getattr(gm, node.target, None)
        if isinstance(value, torch.Tensor) and value.device == _CPU:
            setattr(gm, node.target, lend(value, card))


def lend(tensor: torch.Tensor, card: torch.device) -> torch.Tensor:
    """A spyre tensor over the memory of a CPU tensor; both see every write."""
    lent = [tensor]
    _C.lend_to_card(lent, card.index)
    return lent[0]


def _fake_on(card: torch.device, value: Any, mode: FakeTensorMode) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    with mode:
        return torch.empty_strided(
            value.size(), value.stride(), dtype=value.dtype, device=card
        )
