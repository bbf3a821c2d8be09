"""Runs a function eagerly on the CPU and compiled for spyre, and compares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree


def on(device: str, value: Any) -> Any:
    """`value` with each tensor copied to `device`; gradients are required as before."""

    def move(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        return leaf.detach().clone().to(device).requires_grad_(leaf.requires_grad)

    return pytree.tree_map(move, value)


def check(
    fn: Callable[..., Any],
    *args: Any,
    device: str = "spyre",
    calls: int = 2,
    **compile_options: Any,
) -> Callable[..., Any]:
    """Compiled results, and mutated arguments, equal CPU eager's; returns the compiled function.

    Called more than once, so that the second call uses what the first resolved.
    """
    compiled = torch.compile(fn, backend="spyre", **compile_options)
    for _ in range(calls):
        expected_args, args_there = on("cpu", args), on(device, args)
        expected = fn(*expected_args)
        actual = compiled(*args_there)
        assert_same(actual, expected, device)
        assert_same(args_there, expected_args, device)
    return compiled


def assert_same(actual: Any, expected: Any, device: str) -> None:
    for got, wanted in zip(
        pytree.tree_leaves(actual), pytree.tree_leaves(expected), strict=True
    ):
        if isinstance(wanted, torch.Tensor):
            assert got.device.type == device
            assert got.stride() == wanted.stride()
            torch.testing.assert_close(got.detach().cpu(), wanted.detach())
        else:
            assert got == wanted


def gradients(
    fn: Callable[..., torch.Tensor], args: Sequence[Any]
) -> list[torch.Tensor | None]:
    """Gradients of fn(*args).sum() with respect to the arguments that require one."""
    fn(*args).sum().backward()
    return [a.grad for a in args if isinstance(a, torch.Tensor) and a.requires_grad]


@pytest.fixture
def fresh_dynamo() -> Iterator[None]:
    """No compiled code of an earlier test is used, nor its count of recompilations."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()
