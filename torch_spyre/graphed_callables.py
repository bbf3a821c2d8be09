"""make_graphed_callables(): forward and backward of a module, each replayed as one graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Tensors = tuple[Tensor, ...]


@dataclass
class _Captured:
    """One callable's graphs with the tensors that they read and write."""

    function: Callable[..., Any]
    args: Tensors
    inputs: Tensors  # args, then parameters
    forward_graph: Any
    backward_graph: Any
    outputs: Tensors = ()
    output_spec: Any = None
    grad_outputs: tuple[Tensor | None, ...] = ()
    grad_inputs: tuple[Tensor | None, ...] = ()


def _check_module(module: torch.nn.Module) -> None:
    if module._backward_hooks or module._forward_hooks or module._forward_pre_hooks:
        raise AssertionError(
            "Modules must not have hooks registered at the time they are passed. However, "
            "registering hooks on modules after passing them through make_graphed_callables "
            "is allowed."
        )
    if any(buffer.requires_grad for buffer in module.buffers()):
        raise AssertionError(
            "In any torch.nn.Module passed to make_graphed_callables, only parameters may be "
            "trainable. All buffers must have requires_grad=False."
        )


def _prepare(function: Callable[..., Any], sample_args: Tensors) -> _Captured:
    from torch_spyre.graphs import SpyreGraph

    parameters: Tensors = ()
    if isinstance(function, torch.nn.Module):
        _check_module(function)
        parameters = tuple(function.parameters())
    leaves = tuple(torch.utils._pytree.arg_tree_leaves(*sample_args))
    if not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise AssertionError(
            "sample_args for each callable must contain only Tensors. Other types are not "
            "allowed."
        )
    return _Captured(
        function, sample_args, leaves + parameters, SpyreGraph(), SpyreGraph()
    )


def _gradients(
    item: _Captured, outputs: Tensors, grads: Tensors, allow_unused: bool
) -> Any:
    return torch.autograd.grad(
        outputs=tuple(o for o in outputs if o.requires_grad),
        inputs=tuple(i for i in item.inputs if i.requires_grad),
        grad_outputs=grads,
        only_inputs=True,
        allow_unused=allow_unused,
    )


def _warm_up(item: _Captured, iterations: int, allow_unused: bool) -> None:
    for _ in range(iterations):
        outputs = tuple(torch.utils._pytree.tree_leaves(item.function(*item.args)))
        grads = tuple(torch.empty_like(o) for o in outputs if o.requires_grad)
        if grads:
            _gradients(item, outputs, grads, allow_unused)


def _capture_forward(item: _Captured, pool: tuple[int, int]) -> None:
    from torch_spyre.graphs import graph

    with graph(item.forward_graph, pool=pool):
        outputs = item.function(*item.args)
    leaves, item.output_spec = torch.utils._pytree.tree_flatten(outputs)
    item.outputs = tuple(leaves)


def _capture_backward(
    item: _Captured, pool: tuple[int, int], allow_unused: bool
) -> None:
    from torch_spyre.graphs import graph

    item.grad_outputs = tuple(
        torch.empty_like(o) if o.requires_grad else None for o in item.outputs
    )
    grads = tuple(g for g in item.grad_outputs if g is not None)
    if not grads:
        item.grad_inputs = (None,) * len(item.inputs)
        return
    with graph(item.backward_graph, pool=pool):
        computed = iter(_gradients(item, item.outputs, grads, allow_unused))
    item.grad_inputs = tuple(
        next(computed) if i.requires_grad else None for i in item.inputs
    )


def _refresh(static: Tensor, fresh: Tensor) -> None:
    if static.data_ptr() != fresh.data_ptr():
        static.copy_(fresh)


def _autograd_function(item: _Captured) -> Callable[..., Any]:
    user_inputs = len(torch.utils._pytree.arg_tree_leaves(*item.args))
    parameters = item.inputs[user_inputs:]

    class Graphed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Tensor) -> Tensors:
            for static, fresh in zip(item.inputs[:user_inputs], inputs, strict=False):
                _refresh(static, fresh)
            item.forward_graph.replay()
            return tuple(o.detach() for o in item.outputs)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
            for static, fresh in zip(item.grad_outputs, grads, strict=True):
                if static is not None:
                    _refresh(static, fresh)
            item.backward_graph.replay()
            return tuple(
                g.detach() if g is not None else None for g in item.grad_inputs
            )

    def call(*args: Any) -> Any:
        leaves = torch.utils._pytree.arg_tree_leaves(*args)
        outputs = Graphed.apply(*leaves, *parameters)
        return torch.utils._pytree.tree_unflatten(outputs, item.output_spec)

    return call


def _replace_forward(module: torch.nn.Module, graphed: Callable[..., Any]) -> None:
    captured_mode, plain = module.training, module.forward

    def forward(*args: Any) -> Any:
        # Train and eval may differ (dropout): the graph serves only the mode it captured.
        return graphed(*args) if module.training == captured_mode else plain(*args)

    module.forward = forward  # type: ignore[method-assign]


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: tuple[int, int] | None = None,
) -> Any:
    """Gives graphed versions of functions or modules, for use in a training loop.

    Args:
        callables: one function or module, or a tuple in the order in which they run.
        sample_args: tuple of tensors (per callable, when a tuple was given) whose shapes, dtypes
            and requires_grad match the real ones.
        num_warmup_iters: eager runs before the capture.
        allow_unused_input: inputs without a gradient are not an error.
        pool: memory pool of the graphs.
    """
    from torch_spyre.graphs import graph_pool_handle
    from torch_spyre.streams import Stream, stream

    if torch.is_autocast_enabled("spyre") and torch.is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables does not support the autocast caching. Please set "
            "`cache_enabled=False`."
        )
    single = not isinstance(callables, tuple)
    pairs = (
        [(callables, sample_args)]
        if single
        else zip(callables, sample_args, strict=True)
    )
    items = [_prepare(function, args) for function, args in pairs]
    pool = graph_pool_handle() if pool is None else pool
    torch.accelerator.synchronize()
    with stream(Stream()):
        for item in items:
            _warm_up(item, num_warmup_iters, allow_unused_input)
    torch.accelerator.synchronize()
    # All graphs share one pool, so they are captured in the order in which they will run.
    for item in items:
        _capture_forward(item, pool)
    for item in reversed(items):
        _capture_backward(item, pool, allow_unused_input)
    results = []
    for item in items:
        graphed = _autograd_function(item)
        if isinstance(item.function, torch.nn.Module):
            _replace_forward(item.function, graphed)
            results.append(item.function)
        else:
            results.append(graphed)
    return results[0] if single else tuple(results)
