"""Copies of one process among its cards: torch.cuda.comm's names, and what DataParallel needs.

torch.nn.parallel.comm is generic but for functions of torch._C that only a CUDA build has, and that
take CUDA's tensors only. register() adds ours, so that scatter, gather, broadcast,
torch.nn.DataParallel and parallel_apply work on cards. Every copy is queued on the current stream
of its card.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn.parallel.comm import (
    broadcast,
    broadcast_coalesced,
    gather,
    reduce_add,
    reduce_add_coalesced,
    scatter,
)

from torch_spyre.streams import stream as _on_stream

__all__ = [
    "broadcast",
    "broadcast_coalesced",
    "gather",
    "reduce_add",
    "reduce_add_coalesced",
    "scatter",
]

Streams = Sequence[torch.Stream | None] | None


def _card(index: int) -> torch.device:
    return torch.device("spyre", index)


def _copy(source: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(source, non_blocking=True)


def _check_outputs(outputs: Sequence[torch.Tensor], what: str) -> None:
    if not outputs:
        raise RuntimeError(f"{what}: expected at least one output tensor")
    for i, out in enumerate(outputs):
        if out.device.type != "spyre":
            raise RuntimeError(
                f"{what}: expected all output tensors on spyre, but output tensor at index {i} "
                f"is on {out.device}"
            )


def _broadcast(
    tensor: torch.Tensor, devices: Sequence[int]
) -> tuple[torch.Tensor, ...]:
    """One copy per card; the card that holds `tensor` gets itself."""
    if not devices:
        raise RuntimeError("broadcast: expected at least one device")
    return tuple(tensor.to(_card(d), non_blocking=True) for d in devices)


def _broadcast_out(
    tensor: torch.Tensor, outputs: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    _check_outputs(outputs, "broadcast")
    for i, out in enumerate(outputs):
        if out.shape != tensor.shape:
            raise RuntimeError(
                f"broadcast: expected output tensors of shape {list(tensor.shape)}, but output "
                f"tensor at index {i} has shape {list(out.shape)}"
            )
    for out in outputs:
        _copy(tensor, out)
    return tuple(outputs)


def _broadcast_coalesced(
    tensors: Sequence[torch.Tensor], devices: Sequence[int], buffer_size: int
) -> list[list[torch.Tensor]]:
    """A list of copies per card. A copy costs the card no synchronization: none is coalesced."""
    if not devices:
        raise RuntimeError("broadcast_coalesced: expected at least one device")
    for i, tensor in enumerate(tensors):
        if tensor.device != _card(devices[0]):
            raise RuntimeError(
                f"broadcast_coalesced: all tensors must be on devices[0], {_card(devices[0])}, "
                f"but the tensor at index {i} is on {tensor.device}"
            )
    return [[t.to(_card(d), non_blocking=True) for t in tensors] for d in devices]


def _chunks(
    tensor: torch.Tensor, sizes: Sequence[int] | None, count: int, dim: int
) -> Sequence[torch.Tensor]:
    if sizes is None:
        return tensor.chunk(count, dim)
    if len(sizes) != count:
        raise RuntimeError(
            f"scatter: expected a chunk size per device, got {len(sizes)} chunk sizes for "
            f"{count} devices"
        )
    if sum(sizes) != tensor.size(dim) or min(sizes) < 0:
        raise RuntimeError(
            f"scatter: chunk sizes must not be negative and sum to size {tensor.size(dim)} of "
            f"dimension {dim}, got {list(sizes)}"
        )
    return tensor.split(tuple(sizes), dim)


def _check_streams(streams: Streams, outputs: int) -> None:
    if streams is not None and len(streams) < outputs:
        raise RuntimeError(
            f"scatter: expected a stream or None per device, got {len(streams)} for {outputs}"
        )


def _scatter(
    tensor: torch.Tensor,
    devices: Sequence[int],
    chunk_sizes: Sequence[int] | None,
    dim: int,
    streams: Streams,
) -> tuple[torch.Tensor, ...]:
    """Chunk i on card devices[i], copied on streams[i] if given; fewer when `dim` is short."""
    if not devices:
        raise RuntimeError("scatter: expected at least one device")
    _check_streams(streams, len(devices))
    results = []
    for i, chunk in enumerate(_chunks(tensor, chunk_sizes, len(devices), dim)):
        with _on_stream(streams[i] if streams is not None else None):
            results.append(chunk.to(_card(devices[i]), non_blocking=True))
    return tuple(results)


def _scatter_out(
    tensor: torch.Tensor, outputs: Sequence[torch.Tensor], dim: int, streams: Streams
) -> tuple[torch.Tensor, ...]:
    _check_outputs(outputs, "scatter")
    _check_streams(streams, len(outputs))
    sizes = [out.size(dim) for out in outputs]
    chunks = _chunks(tensor, sizes, len(outputs), dim)
    for i, (chunk, out) in enumerate(zip(chunks, outputs, strict=True)):
        if chunk.shape != out.shape:
            raise RuntimeError(
                f"scatter: output tensor at index {i} has shape {list(out.shape)}, expected "
                f"{list(chunk.shape)}"
            )
    for i, (chunk, out) in enumerate(zip(chunks, outputs, strict=True)):
        with _on_stream(streams[i] if streams is not None else None):
            _copy(chunk, out)
    return tuple(outputs)


def _gathered_shape(tensors: Sequence[torch.Tensor], dim: int) -> list[int]:
    if not tensors:
        raise RuntimeError("gather: expected at least one tensor")
    shape = list(tensors[0].shape)
    dim = range(len(shape))[dim]  # IndexError when out of range
    shape[dim] = 0
    for i, tensor in enumerate(tensors):
        if tensor.device.type != "spyre":
            raise RuntimeError(
                f"gather: expected tensors on spyre, but the tensor at index {i} is on "
                f"{tensor.device}"
            )
        other = list(tensor.shape)
        if len(other) == len(shape):
            shape[dim] += other[dim]
            other[dim] = shape[dim]
        if other != shape:
            raise RuntimeError(
                f"gather: tensor at index {i} has shape {list(tensor.shape)}, which differs from "
                f"{list(tensors[0].shape)} in another dimension than {dim}"
            )
    return shape


def _gather(
    tensors: Sequence[torch.Tensor], dim: int, destination: int | None
) -> torch.Tensor:
    """All tensors along `dim` on card `destination`; None: the current card, -1: the host."""
    shape = _gathered_shape(tensors, dim)
    index = torch.spyre.current_device() if destination is None else destination
    device = torch.device("cpu") if index == -1 else _card(index)
    out = torch.empty(shape, dtype=tensors[0].dtype, device=device)
    return _gather_out(tensors, out, dim)


def _gather_out(
    tensors: Sequence[torch.Tensor], out: torch.Tensor, dim: int
) -> torch.Tensor:
    shape = _gathered_shape(tensors, dim)
    if list(out.shape) != shape:
        raise RuntimeError(
            f"gather: expected out of shape {shape}, got {list(out.shape)}"
        )
    pieces = out.split([tensor.size(dim) for tensor in tensors], dim)
    for piece, tensor in zip(pieces, tensors, strict=True):
        # The host would read its copy before it is complete.
        piece.copy_(tensor, non_blocking=out.device.type != "cpu")
    return out


_IMPLEMENTED = (
    _broadcast,
    _broadcast_out,
    _broadcast_coalesced,
    _scatter,
    _scatter_out,
    _gather,
    _gather_out,
)


def _for_cards(ours: Callable[..., Any], theirs: Callable[..., Any] | None) -> Any:
    """`theirs` for CUDA's tensors. The host's go to torch.accelerator's device: a card."""
    if theirs is None:
        return ours

    @functools.wraps(theirs)
    def copies(tensors: Any, *args: Any) -> Any:
        one = (
            tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors), None)
        )
        cuda = one is not None and one.device.type == "cuda"
        return theirs(tensors, *args) if cuda else ours(tensors, *args)

    return copies


def register() -> None:
    """Gives torch._C copies that know cards. Idempotent."""
    from torch.cuda import nccl

    original = nccl.is_available
    if getattr(original, "_knows_spyre", False):
        return
    for function in _IMPLEMENTED:
        theirs = getattr(torch._C, function.__name__, None)
        setattr(torch._C, function.__name__, _for_cards(function, theirs))

    @functools.wraps(original)
    def is_available(tensors: Any) -> bool:
        """The original warns on a build without NCCL; cards would not use it."""
        if any(t.device.type == "spyre" for t in tensors):
            return False
        return original(tensors)

    is_available._knows_spyre = True  # type: ignore[attr-defined]
    nccl.is_available = is_available
