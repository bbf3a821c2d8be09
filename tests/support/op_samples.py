"""op_db's sample inputs on the card against CPU eager: forward, out=, in-place, backward."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

SPYRE = torch.device("spyre:0")
# Their values are random or uninitialised: only shapes and dtypes are compared.
METADATA_ONLY = re.compile(
    r"empty|new_empty|rand|normal|bernoulli|multinomial|uniform|exponential|cauchy|geometric|"
    r"dropout|rrelu|fractional_max_pool|lowrank"
)
TOLERANCE = {  # rtol, atol: as torch's test_ops.test_compare_cpu
    torch.float16: (5e-3, 5e-3),
    torch.bfloat16: (2e-2, 2e-2),
    torch.float64: (1e-7, 1e-7),
    torch.complex128: (1e-7, 1e-7),
}
# Arguments that stay on the host on every device.
HOST_ARGUMENTS = {"tensor_split", "jiterator"}


def operators(pattern: str = "") -> Iterator[Any]:
    """OpInfo entries whose name matches; jiterator entries are CUDA only."""
    from torch.testing._internal.common_methods_invocations import op_db

    for op in op_db:
        if "jiterator" not in op.name and re.search(pattern, op.full_name):
            yield op


def to_card(value: Any, grad: bool = False) -> Any:
    """The same nest with its tensors (and devices) on the card."""

    def move(leaf: Any) -> Any:
        if isinstance(leaf, torch.device) or leaf == "cpu":
            return SPYRE
        if not isinstance(leaf, torch.Tensor):
            return leaf
        moved = leaf.detach().to(SPYRE)
        return moved.requires_grad_() if grad and leaf.requires_grad else moved

    return tree_map(move, value)


def tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def check_equal(ours: Any, theirs: Any, metadata_only: bool) -> None:
    """Raises AssertionError where device, shape, dtype or values differ."""
    if not isinstance(theirs, (torch.Tensor, tuple, list)):
        assert ours == theirs
        return
    ours_flat, theirs_flat = tensors(ours), tensors(theirs)
    assert len(ours_flat) == len(theirs_flat)
    for a, b in zip(ours_flat, theirs_flat, strict=True):
        assert a.device.type == "spyre", f"result on {a.device}"
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if not metadata_only:
            rtol, atol = TOLERANCE.get(b.dtype, (1e-4, 1e-4))
            torch.testing.assert_close(
                a.cpu(), b, rtol=rtol, atol=atol, equal_nan=True, check_stride=False
            )


def samples(op: Any, dtype: torch.dtype, grad: bool, limit: int) -> list[Any]:
    """At most `limit` samples, spread over op_db's own."""
    torch.manual_seed(0)
    found = list(op.sample_inputs("cpu", dtype, requires_grad=grad))
    step = max(1, len(found) // limit) if limit else 1
    return found[::step][: limit or None]


def check_forward(op: Any, dtype: torch.dtype, limit: int = 2) -> int:
    """Compares the samples; gives how many the CPU itself could run."""
    compared = 0
    for sample in samples(op, dtype, grad=False, limit=limit):
        try:
            expected = call(op, sample.input, sample.args, sample.kwargs)
        except Exception:  # the CPU has no result to compare with
            continue
        result = call(op, *card_arguments(op, sample, grad=False))
        check_equal(result, expected, bool(METADATA_ONLY.search(op.name)))
        compared += 1
    return compared


def check_backward(op: Any, dtype: torch.dtype, limit: int = 2) -> int:
    """Compares the gradients of the sum of all floating outputs."""
    compared = 0
    for sample in samples(op, dtype, grad=True, limit=limit):
        leaves = (sample.input, sample.args, sample.kwargs)
        try:
            expected = gradients(op, *leaves)
        except Exception:  # the CPU has no result to compare with
            continue
        if not expected:
            continue
        result = gradients(op, *card_arguments(op, sample, grad=True))
        check_equal(result, expected, bool(METADATA_ONLY.search(op.name)))
        compared += 1
    return compared


def call(op: Any, value: Any, args: Any, kwargs: Any) -> Any:
    torch.manual_seed(1)
    return op(value, *args, **kwargs)


def card_arguments(op: Any, sample: Any, grad: bool) -> tuple[Any, Any, Any]:
    move: Callable[[Any], Any] = lambda value: to_card(value, grad)  # noqa: E731
    args = sample.args if op.name in HOST_ARGUMENTS else move(sample.args)
    return move(sample.input), args, move(sample.kwargs)


def gradients(op: Any, value: Any, args: Any, kwargs: Any) -> list[torch.Tensor]:
    inputs = [t for t in tensors((value, args, kwargs)) if t.requires_grad]
    outputs = [
        t
        for t in tensors(call(op, value, args, kwargs))
        if t.requires_grad and t.grad_fn
    ]
    if not inputs or not outputs:
        return []
    total = sum((t.abs() if t.is_complex() else t).double().sum() for t in outputs)
    grads = torch.autograd.grad(total, inputs, allow_unused=True)  # type: ignore[arg-type]
    return [grad for grad in grads if grad is not None]
