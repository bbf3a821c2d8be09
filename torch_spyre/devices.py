"""Cards: count, current one, properties, synchronisation. Public names appear in torch.spyre."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from torch_spyre import _C

__all__ = [
    "SpyreDeviceProperties",
    "can_device_access_peer",
    "current_device",
    "device",
    "device_count",
    "device_of",
    "exchange_device",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "get_stream_from_external",
    "get_sync_debug_mode",
    "init",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "is_tf32_supported",
    "maybe_exchange_device",
    "set_device",
    "set_sync_debug_mode",
    "synchronize",
]

Device = torch.device | str | int | None

EXIT_GRACE_S = 5.0


def _get_device_index(
    device: Any, optional: bool = False, allow_cpu: bool = False
) -> int:
    """The index that `device` names; the current card when it names none.

    Raises:
        ValueError: `device` is of another type, or None while `optional` is False.
    """
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if allow_cpu and device.type == "cpu":
            return -1
        if device.type != "spyre":
            raise ValueError(f"Expected a spyre device, but got: {device}")
        return _C.current_device() if device.index is None else device.index
    if device is None and optional:
        return _C.current_device()
    raise ValueError(
        f"Expected a torch.device with a specified index or an integer, but got: {device}"
    )


@dataclass(frozen=True)
class SpyreDeviceProperties:
    """What one card is. Picklable: Inductor's compile workers receive it."""

    name: str
    major: int
    minor: int
    total_memory: int  # bytes
    multi_processor_count: int  # cores
    lx_bytes_per_core: int
    stick_bytes: int
    uuid: str
    warp_size: int = 32  # surrogate: fp32 lanes of one stick
    max_threads_per_multi_processor: int = 1
    regs_per_multiprocessor: int = 0

    @property
    def L2_cache_size(self) -> int:
        """Bytes of scratchpad (LX) of all cores."""
        return self.lx_bytes_per_core * self.multi_processor_count


def is_available() -> bool:
    """True when there is at least one card. Never initialises, never raises."""
    return _C.device_count() > 0


def is_initialized() -> bool:
    """True once the device was used, and not in the child of a fork."""
    return _C.is_initialized() and not _C.in_bad_fork()


def init() -> None:
    """Initialises the device now instead of at first use. Raises in a forked child."""
    _C.initialize()


_lazy_init = init


def _lazy_call(callable: Callable[[], Any], **kwargs: Any) -> None:
    """Calls at once: nothing needs the device to be initialised before."""
    callable()


def _is_in_bad_fork() -> bool:
    return _C.in_bad_fork()


def device_count() -> int:
    """Number of visible cards (SPYRE_VISIBLE_DEVICES, SPYRE_DEVICE_COUNT)."""
    return _C.device_count()


def current_device() -> int:
    """Index of this thread's current card. Raises RuntimeError when there is none."""
    if _C.device_count() == 0:
        _C.initialize()  # raises
    return _C.current_device()


def set_device(device: Device) -> None:
    """Makes a card current for this thread; a negative index changes nothing."""
    index = _get_device_index(device)
    if index >= 0:
        _C.exchange_device(index)


def exchange_device(device: int) -> int:
    """Sets the current card; returns the previous one, or -1 for a negative index."""
    return -1 if device < 0 else _C.exchange_device(device)


def maybe_exchange_device(device: int) -> int:
    """As exchange_device, but a negative index returns the current card."""
    return _C.maybe_exchange_device(device)


_exchange_device = exchange_device
_maybe_exchange_device = maybe_exchange_device


class device:
    """Context manager: changes the current card; None or a negative index changes nothing.

    One object may be entered again, also inside itself.
    """

    def __init__(self, device: Any) -> None:
        self.idx = _get_device_index(device, optional=True)
        self.prev_idx = -1
        self._outer: list[int] = []  # prev_idx of the blocks around this one

    def __enter__(self) -> None:
        self._outer.append(self.prev_idx)
        self.prev_idx = _C.maybe_exchange_device(self.idx)

    def __exit__(self, *exc: object) -> bool:
        _C.maybe_exchange_device(self.prev_idx)
        self.prev_idx = self._outer.pop()
        return False


class device_of(device):
    """As `device`, for the card of a tensor or storage; nothing for a host tensor."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.device.type == "spyre" else -1)


def drain_at_exit() -> None:
    """Lets queued work finish before Python is torn down, for at most EXIT_GRACE_S.

    Queued work may own memory whose deleter needs the interpreter; an engine thread that asks for
    it during finalization would end the process. An error nobody asked for yet is raised here, so
    that Python prints it. Work that is left after the grace, or that a daemon thread goes on to
    queue, is abandoned, as on CUDA.
    """
    if not is_initialized() or _is_in_bad_fork():
        return
    end = time.monotonic() + EXIT_GRACE_S
    errors = []
    for index in range(device_count()):
        try:
            _C.drain_at_exit(index, max(end - time.monotonic(), 0.0))
        except RuntimeError as error:
            errors.append(error)
    if errors:
        raise errors[0]


def synchronize(device: Device = None) -> None:
    """Waits for all streams of a card; raises the first error that their work left."""
    _C.synchronize_device(_get_device_index(device, optional=True))


def can_device_access_peer(device: Device, peer_device: Device) -> bool:
    """True between two different cards: all live in this process's memory."""
    first = _get_device_index(device, optional=True)
    second = _get_device_index(peer_device)
    for what, index in (("device", first), ("peer device", second)):
        if not 0 <= index < device_count():
            raise AssertionError(f"Invalid {what} id {index}: {_count_text()}")
    return first != second


def _count_text() -> str:
    return f"there are {device_count()} Spyre devices"


def get_device_properties(device: Device = None) -> SpyreDeviceProperties:
    """Name, memory, cores, scratchpad of a card. AssertionError when there is none, as for CUDA."""
    index = _get_device_index(device, optional=True)
    if not 0 <= index < device_count():
        raise AssertionError(f"Invalid device id {index}: {_count_text()}")
    return SpyreDeviceProperties(**_C.device_properties(index))


def get_device_name(device: Device = None) -> str:
    """Name of a card, "Emulated Spyre"."""
    return get_device_properties(device).name


def get_device_capability(device: Device = None) -> tuple[int, int]:
    """(major, minor) of a card."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def get_arch_list() -> list[str]:
    """Core generations that kernels are built for."""
    if not is_available():
        return []
    return [f"spyre{major}{minor}" for major, minor in {get_device_capability(0)}]


def get_gencode_flags() -> str:
    """Empty: kernels are built for the one generation there is."""
    return ""


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """True: kernels compute bfloat16, natively where the host can."""
    return True


def is_tf32_supported() -> bool:
    """False: there is no TF32; see torch.set_float32_matmul_precision."""
    return False


_SYNC_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Warns or raises on implicit synchronisation (item(), nonzero(), copies to the host).

    Args:
        debug_mode: "default" or 0, "warn" or 1, "error" or 2.
    """
    if isinstance(debug_mode, str):
        if debug_mode not in _SYNC_DEBUG_MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`"
            )
        debug_mode = _SYNC_DEBUG_MODES[debug_mode]
    if debug_mode not in (0, 1, 2):
        raise RuntimeError("invalid value of debug_mode, expected one of 0, 1, 2")
    _C.set_sync_debug_mode(debug_mode)


def get_sync_debug_mode() -> int:
    """0 (default), 1 (warn) or 2 (error)."""
    return _C.sync_debug_mode()


def get_stream_from_external(data_ptr: int, device: Device = None) -> torch.Stream:
    """A Stream for a handle that another library holds (Stream.spyre_stream)."""
    from torch_spyre.streams import ExternalStream

    return ExternalStream(data_ptr, device)
