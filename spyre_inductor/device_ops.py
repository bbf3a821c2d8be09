"""Lines of Python that Inductor's wrapper writes for streams and devices."""

from __future__ import annotations

from torch._inductor.codegen.common import DeviceOpOverrides


class SpyreDeviceOpOverrides(DeviceOpOverrides):
    """The C++ wrapper's hooks stay unimplemented: there is no C++ wrapper for spyre."""

    def import_get_raw_stream_as(self, name: str) -> str:
        return (
            "from spyre_inductor.device_interface import get_raw_stream"
            f"{'' if name == 'get_raw_stream' else f' as {name}'}"
        )

    def set_device(self, device_idx: int) -> str:
        return f"torch.spyre.set_device({device_idx})"

    def synchronize(self) -> str:
        return "torch.spyre.synchronize()"

    def device_guard(self, device_idx: int) -> str:
        return f"torch.spyre.device({device_idx})"

    def current_stream(self) -> str:
        return "torch.spyre.current_stream()"
