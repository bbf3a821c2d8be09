"""Fake results of convolutions, in the layout that the card's kernels answer in.

They run the CPU's kernels, which keep channels-last; upstream's rule takes any device that came
through PrivateUse1 for one that always answers contiguously. Compilers plan by the fake result, so
each convolution would pay a copy that undoes the layout.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses import fake_impls
from torch.utils import _pytree as pytree

aten = torch.ops.aten
_CONVOLUTIONS = (aten.convolution.default, aten.convolution_backward.default)


def register() -> None:
    """Wraps upstream's rules; tensors of other devices are left to them."""
    rules = fake_impls.op_implementations_dict
    for operator in _CONVOLUTIONS:
        rules[operator] = _by_the_cpu(rules[operator])


def _by_the_cpu(rule: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(rule)
    def fake(fake_mode: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        device = args[0].device if args else kwargs["input"].device
        if device.type != "spyre":
            return rule(fake_mode, func, *args, **kwargs)
        args, kwargs = _moved((args, kwargs), torch.device("cpu"), fake_mode)
        return _moved(rule(fake_mode, func, *args, **kwargs), device, fake_mode)

    return fake


def _moved(values: Any, device: torch.device, fake_mode: Any) -> Any:
    """`values` with fake tensors of the same layout on `device`."""

    def move(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return torch.empty_strided(
            value.size(), value.stride(), dtype=value.dtype, device=device
        )

    with fake_mode:
        return pytree.tree_map(move, values)
