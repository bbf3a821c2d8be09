"""What Dynamo and Inductor ask about the device. Forwards to torch.spyre and torch.accelerator."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch._dynamo.device_interface import DeviceInterface

# Inductor cuts a scan into kernels of at least a warp's elements per thread, as a GPU needs it (and
# divides by zero when a core has fewer threads than a block). The card divides a kernel by itself.
_NEVER_SPLIT = 1 << 40


def get_raw_stream(device_index: int) -> int:
    """Id of the card's current stream."""
    return torch.accelerator.current_stream(
        torch.device("spyre", device_index)
    ).stream_id


def _index(device: Any) -> int:
    if device is None:
        return torch.spyre.current_device()
    if isinstance(device, int):
        return device
    index = torch.device(device).index
    return torch.spyre.current_device() if index is None else index


class SpyreInterface(DeviceInterface):
    """Everything runs in this process, so the Worker asks the device itself."""

    device = torch.spyre.device  # type: ignore[assignment]
    Event = torch.Event  # type: ignore[assignment]
    Stream = torch.Stream  # type: ignore[assignment]

    class Worker:
        """Asked for device properties while compiling."""

        @staticmethod
        def set_device(device: int) -> None:
            torch.spyre.set_device(device)

        @staticmethod
        def current_device() -> int:
            return torch.spyre.current_device()

        @staticmethod
        def get_device_properties(device: Any = None) -> Any:
            properties = torch.spyre.get_device_properties(_index(device))
            return dataclasses.replace(properties, warp_size=_NEVER_SPLIT)

    @staticmethod
    def current_device() -> int:
        return torch.spyre.current_device()

    @staticmethod
    def set_device(device: Any) -> None:
        torch.spyre.set_device(device)

    @staticmethod
    def exchange_device(device: int) -> int:
        previous = torch.spyre.current_device()
        torch.spyre.set_device(device)
        return previous

    @staticmethod
    def maybe_exchange_device(device: int) -> int:
        previous = torch.spyre.current_device()
        if device >= 0:
            torch.spyre.set_device(device)
        return previous

    @staticmethod
    def device_count() -> int:
        return torch.spyre.device_count()

    @staticmethod
    def is_available() -> bool:
        return torch.spyre.is_available()

    @staticmethod
    def stream(stream: torch.Stream) -> Any:
        return torch.spyre.stream(stream)

    @staticmethod
    def current_stream(device: Any = None) -> torch.Stream:
        return torch.accelerator.current_stream(torch.device("spyre", _index(device)))

    @staticmethod
    def set_stream(stream: torch.Stream) -> None:
        torch.accelerator.set_stream(stream)

    @staticmethod
    def _set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
        torch.accelerator.set_stream(
            torch.Stream(
                stream_id=stream_id, device_index=device_index, device_type=device_type
            )
        )

    @staticmethod
    def get_raw_stream(device_idx: int) -> int:
        return get_raw_stream(device_idx)

    @staticmethod
    def synchronize(device: Any = None) -> None:
        torch.spyre.synchronize(device)

    @staticmethod
    def get_compute_capability(device: Any = None) -> str:
        properties = torch.spyre.get_device_properties(_index(device))
        return f"{properties.major}.{properties.minor}"

    @staticmethod
    def is_bf16_supported(including_emulation: bool = False) -> bool:
        return True

    @staticmethod
    def memory_allocated(device: Any = None) -> int:
        return torch.accelerator.memory_allocated(_index(device))
