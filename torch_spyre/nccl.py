"""Collectives over cards of one process, under the names of torch.cuda.nccl.

Every argument is a sequence with one contiguous tensor per card, no card twice. Work is queued on
each card's current stream, or on `streams[i]`. Between processes use torch.distributed.
"""

from __future__ import annotations

import collections.abc
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from torch_spyre.streams import stream as _on_stream

__all__ = ["all_gather", "all_reduce", "broadcast", "reduce", "reduce_scatter"]

SUM, PROD, MAX, MIN, AVG = range(5)  # ncclRedOp_t

_COMBINE: dict[int, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    SUM: torch.Tensor.add_,
    PROD: torch.Tensor.mul_,
    MAX: lambda into, other: torch.maximum(into, other, out=into),
    MIN: lambda into, other: torch.minimum(into, other, out=into),
    AVG: torch.Tensor.add_,
}


def version() -> tuple[int, int, int]:
    """Version of these collectives: that of the package."""
    import torch_spyre

    major, minor, patch = (int(part) for part in torch_spyre.__version__.split("."))
    return major, minor, patch


def is_available(tensors: Sequence[torch.Tensor]) -> bool:
    """True for dense contiguous spyre tensors, each on another card."""
    fits = all(t.is_spyre and not t.is_sparse and t.is_contiguous() for t in tensors)
    return fits and len({t.device for t in tensors}) == len(tensors)


def unique_id() -> bytes:
    """Not offered: communicators join processes, which is torch.distributed's part."""
    raise NotImplementedError(
        "torch.spyre.nccl works inside one process; use torch.distributed between processes"
    )


def init_rank(num_ranks: int, uid: bytes, rank: int) -> Any:
    """Not offered: see unique_id()."""
    return unique_id()


def _checked(
    inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor], scale: str = "1"
) -> None:
    """Checks both lists; `scale`: outputs have "n" times the inputs' elements, or "1/n"."""
    count = len(inputs)
    if count == 0 or len(outputs) != count:
        raise RuntimeError(
            f"expected as many outputs as inputs and at least one, got {count} inputs and "
            f"{len(outputs)} outputs"
        )
    numel = inputs[0].numel()
    expected = {"1": numel, "n": numel * count, "1/n": numel // count}[scale]
    if scale == "1/n" and numel % count:
        raise RuntimeError(f"{numel} elements cannot be divided among {count} cards")
    for what, tensors, elements in (
        ("inputs", inputs, numel),
        ("outputs", outputs, expected),
    ):
        if not is_available(tensors):
            raise RuntimeError(
                f"{what} must be dense contiguous spyre tensors on different cards, got "
                f"{[str(t.device) for t in tensors]}"
            )
        for tensor in tensors:
            if tensor.numel() != elements or tensor.dtype != inputs[0].dtype:
                raise RuntimeError(
                    f"expected {what} of {elements} elements of {inputs[0].dtype}, got "
                    f"{tensor.numel()} of {tensor.dtype}"
                )
    if [t.device for t in inputs] != [t.device for t in outputs]:
        raise RuntimeError("input and output of the same position must be on one card")


def _sequence(tensors: Any) -> None:
    if isinstance(tensors, torch.Tensor) or not isinstance(
        tensors, collections.abc.Container
    ):
        raise TypeError("Inputs should be a collection of tensors")


@contextlib.contextmanager
def _streams(
    streams: Sequence[torch.Stream | None] | None, comms: Any
) -> Iterator[None]:
    if comms is not None:
        unique_id()
    with contextlib.ExitStack() as stack, torch.no_grad():
        for one in streams or ():
            stack.enter_context(_on_stream(one))
        yield


def _reduced(
    inputs: Sequence[torch.Tensor], op: int, device: torch.device
) -> torch.Tensor:
    """The reduction of all inputs in a new tensor on `device`, in the order of the list."""
    if op not in _COMBINE:
        raise RuntimeError(f"unknown reduction {op}: expected 0 (sum) to 4 (average)")
    total = inputs[0].to(device, copy=True)
    for tensor in inputs[1:]:
        _COMBINE[op](total, tensor.to(device).view_as(total))
    if op == AVG:
        total.copy_(total / len(inputs))
    return total


def all_reduce(
    inputs: Sequence[torch.Tensor],
    outputs: Sequence[torch.Tensor] | None = None,
    op: int = SUM,
    streams: Sequence[torch.Stream | None] | None = None,
    comms: Any = None,
) -> None:
    """Writes the reduction of all inputs to every output (None: to the inputs)."""
    _sequence(inputs)
    outputs = inputs if outputs is None else outputs
    _sequence(outputs)
    _checked(inputs, outputs)
    with _streams(streams, comms):
        total = _reduced(inputs, op, inputs[0].device)
        for out in outputs:
            out.copy_(total.view_as(out))


def reduce(
    inputs: Sequence[torch.Tensor],
    output: torch.Tensor | None = None,
    root: int = 0,
    op: int = SUM,
    streams: Sequence[torch.Stream | None] | None = None,
    comms: Any = None,
) -> None:
    """Writes the reduction to `output` on the card of inputs[root] (None: to that input)."""
    _sequence(inputs)
    _checked(inputs, inputs)
    output = inputs[root] if output is None else output
    if output.device != inputs[root].device:
        raise RuntimeError(
            f"output is on {output.device}, the root is {inputs[root].device}"
        )
    with _streams(streams, comms):
        output.copy_(_reduced(inputs, op, output.device).view_as(output))


def broadcast(
    inputs: Sequence[torch.Tensor],
    root: int = 0,
    streams: Sequence[torch.Stream | None] | None = None,
    comms: Any = None,
) -> None:
    """Writes inputs[root] to all others."""
    _sequence(inputs)
    _checked(inputs, inputs)
    with _streams(streams, comms):
        for position, tensor in enumerate(inputs):
            if position != root:
                tensor.copy_(inputs[root].view_as(tensor))


def all_gather(
    inputs: Sequence[torch.Tensor],
    outputs: Sequence[torch.Tensor],
    streams: Sequence[torch.Stream | None] | None = None,
    comms: Any = None,
) -> None:
    """Writes all inputs, one after the other, to every output (n times as many elements)."""
    _sequence(inputs)
    _sequence(outputs)
    _checked(inputs, outputs, "n")
    with _streams(streams, comms):
        for out in outputs:
            for part, tensor in zip(
                out.view(-1).chunk(len(inputs)), inputs, strict=True
            ):
                part.copy_(tensor.view(-1))


def reduce_scatter(
    inputs: Sequence[torch.Tensor],
    outputs: Sequence[torch.Tensor],
    op: int = SUM,
    streams: Sequence[torch.Stream | None] | None = None,
    comms: Any = None,
) -> None:
    """Writes the n-th piece of the reduction to outputs[n]."""
    _sequence(inputs)
    _sequence(outputs)
    _checked(inputs, outputs, "1/n")
    with _streams(streams, comms):
        pieces = [tensor.view(-1).chunk(len(inputs)) for tensor in inputs]
        for position, out in enumerate(outputs):
            part = _reduced([piece[position] for piece in pieces], op, out.device)
            out.copy_(part.view_as(out))
