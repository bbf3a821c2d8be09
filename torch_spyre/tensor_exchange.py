"""Tensors that cross to other libraries: DLPack.

Torch 2.13's Tensor.__dlpack_device__ compares with the literal "privateuse1" and calls a renamed
device unknown. register() wraps that one method; every other device goes to the original.
"""

from __future__ import annotations

import enum
import functools

import torch


def register() -> None:
    """Teaches Tensor.__dlpack_device__ the renamed device (kDLExtDev). Idempotent."""
    original = torch.Tensor.__dlpack_device__
    if getattr(original, "_knows_spyre", False):
        return

    @functools.wraps(original)
    def __dlpack_device__(self: torch.Tensor) -> tuple[enum.IntEnum, int]:
        if self.device.type != "spyre" or torch.overrides.has_torch_function_unary(
            self
        ):
            return original(self)
        from torch.utils.dlpack import DLDeviceType

        return DLDeviceType.kDLExtDev, self.device.index

    __dlpack_device__._knows_spyre = True  # type: ignore[attr-defined]
    torch.Tensor.__dlpack_device__ = __dlpack_device__  # type: ignore[method-assign]
