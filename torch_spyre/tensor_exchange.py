"""Tensors that cross to other libraries: DLPack.

Torch 2.13's Tensor.__dlpack_device__ compares with the literal "privateuse1" and calls a renamed
device unknown; its Tensor.__dlpack__ orders the consumer's stream behind the producer's for CUDA
only. register() wraps these two methods; every other device goes to the originals.
"""

from __future__ import annotations

import enum
import functools
from typing import Any

import torch

from torch_spyre.streams import ExternalStream, current_stream


def _is_ours(tensor: torch.Tensor) -> bool:
    return (
        tensor.device.type == "spyre"
        and not torch.overrides.has_torch_function_unary(tensor)
    )


def register() -> None:
    """Teaches Tensor.__dlpack_device__ the renamed device (kDLExtDev). Idempotent."""
    original = torch.Tensor.__dlpack_device__
    if getattr(original, "_knows_spyre", False):
        return

    @functools.wraps(original)
    def __dlpack_device__(self: torch.Tensor) -> tuple[enum.IntEnum, int]:
        if not _is_ours(self):
            return original(self)
        from torch.utils.dlpack import DLDeviceType

        return DLDeviceType.kDLExtDev, self.device.index

    __dlpack_device__._knows_spyre = True  # type: ignore[attr-defined]
    torch.Tensor.__dlpack_device__ = __dlpack_device__  # type: ignore[method-assign]

    original_export = torch.Tensor.__dlpack__

    @functools.wraps(original_export)
    def __dlpack__(self: torch.Tensor, *, stream: Any = -1, **options: Any) -> Any:
        """`stream`: the consumer's `spyre_stream`, which waits for this one; -1 or None: none."""
        ordered = (
            isinstance(stream, int) and not isinstance(stream, bool) and stream != -1
        )
        if ordered and _is_ours(self):
            consumer = ExternalStream(stream, self.device)
            producer = current_stream(self.device)
            if consumer != producer:
                consumer.wait_stream(producer)
        return original_export(self, stream=stream, **options)

    torch.Tensor.__dlpack__ = __dlpack__  # type: ignore[method-assign]
