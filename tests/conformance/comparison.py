"""Moving nests of tensors to the card, and comparing what it gives with CPU eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

SPYRE = torch.device("spyre:0")
OTHER = torch.device("spyre:1")  # never the current one


def to_card(value: Any, grad: bool = False, card: torch.device = SPYRE) -> Any:
    """The same nest with its tensors (and devices) on the card."""
    return moved_nest(value, card, grad)


def copies(value: Any) -> Any:
    """The same nest with fresh CPU tensors that need no gradient."""
    return moved_nest(value, torch.device("cpu"), grad=False)


def moved_nest(value: Any, target: torch.device, grad: bool) -> Any:
    """Strides stay, and tensors that share memory share it in the result."""
    memory: dict[int, torch.UntypedStorage] = {}

    def move(leaf: Any) -> Any:
        if isinstance(leaf, torch.device) or (
            isinstance(leaf, str) and leaf.startswith("cpu")
        ):
            return target
        if not isinstance(leaf, torch.Tensor) or leaf.device.type != "cpu":
            return leaf
        moved = moved_tensor(leaf.detach(), target, memory)
        return moved.requires_grad_() if grad and leaf.requires_grad else moved

    return tree_map(move, value)


def moved_tensor(
    tensor: torch.Tensor, target: torch.device, memory: dict[int, torch.UntypedStorage]
) -> torch.Tensor:
    plain = tensor.layout is torch.strided and not (
        tensor.is_quantized or tensor._is_zerotensor() or tensor.is_nested
    )
    if not plain:
        return tensor.to(target, copy=True)
    storage = tensor.untyped_storage()
    key = storage._cdata
    if key not in memory:
        memory[key] = bytes_of(storage).to(target, copy=True).untyped_storage()
    moved = torch.empty(0, dtype=tensor.dtype, device=target)
    moved.set_(memory[key], tensor.storage_offset(), tensor.size(), tensor.stride())
    moved = torch._conj(moved) if tensor.is_conj() else moved
    return torch._neg_view(moved) if tensor.is_neg() else moved


def bytes_of(storage: torch.UntypedStorage) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8).set_(storage)  # type: ignore[call-overload]


def tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def check_equal(
    ours: Any, theirs: Any, metadata_only: bool = False, card: torch.device = SPYRE
) -> None:
    """AssertionError where device, layout, shape, dtype or values differ by more than
    torch.testing's default tolerance of the dtype."""
    ours_flat, theirs_flat = tree_leaves(ours), tree_leaves(theirs)
    assert len(ours_flat) == len(theirs_flat), "another number of results"
    for a, b in zip(ours_flat, theirs_flat, strict=True):
        if not isinstance(b, torch.Tensor):
            if isinstance(b, torch.device):
                assert a == card, f"device {a}"
            elif not metadata_only:
                torch.testing.assert_close(a, b, equal_nan=True) if isinstance(
                    b, (int, float, complex)
                ) else _check_plain(a, b)
            continue
        assert a.device == card, f"result on {a.device}"
        ours_kind, theirs_kind = (
            (a.shape, a.dtype, a.layout),
            (
                b.shape,
                b.dtype,
                b.layout,
            ),
        )
        assert ours_kind == theirs_kind, f"{ours_kind} instead of {theirs_kind}"
        if not metadata_only:
            torch.testing.assert_close(
                a.detach().cpu(), b.detach(), equal_nan=True, check_stride=False
            )


def _check_plain(ours: Any, theirs: Any) -> None:
    assert ours == theirs, f"{ours!r} instead of {theirs!r}"


def gradients(
    call: Callable[[], Any], inputs: list[torch.Tensor], card: bool
) -> list[torch.Tensor | None]:
    """Gradients of a fixed random weighting of all differentiable outputs."""
    outputs = [t for t in tensors(call()) if t.requires_grad and t.grad_fn is not None]
    leaves = [t for t in inputs if t.requires_grad]
    if not leaves or not outputs:
        return []
    generator = torch.Generator().manual_seed(2)
    weights = []
    for output in outputs:
        weight = torch.randn(output.shape, generator=generator, dtype=torch.float32)
        weight = weight.to(output.dtype)
        if output.layout is not torch.strided:
            weight = weight.to_sparse(layout=output.layout)
        weights.append(weight.to(SPYRE) if card else weight)
    found = torch.autograd.grad(outputs, leaves, weights, allow_unused=True)
    return list(found)
