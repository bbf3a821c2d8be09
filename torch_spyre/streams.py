"""Streams and events with CUDA's classes and argument forms, on torch.Stream and torch.Event."""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from torch_spyre import _C
from torch_spyre.devices import Device, _get_device_index

__all__ = [
    "Event",
    "ExternalStream",
    "Stream",
    "StreamContext",
    "current_stream",
    "default_stream",
    "is_current_stream_capturing",
    "set_stream",
    "stream",
]

_DEVICE_TYPE = int(torch._C._autograd.DeviceType.PrivateUse1)


class Stream(torch.Stream):
    """A queue of work of one card.

    Args:
        device: card; None or a negative index is the current one.
        priority: -3 (served first) to 0; values outside are clamped.
    """

    def __new__(cls, device: Device = None, priority: int = 0, **kwargs: Any) -> Stream:
        if "stream_id" in kwargs:
            return super().__new__(cls, **kwargs)
        index = _get_device_index(device, optional=True)
        if index < 0:
            index = _C.current_device()
        stream_id = _C.stream_from_pool(index, priority)
        return super().__new__(
            cls, stream_id=stream_id, device_index=index, device_type=_DEVICE_TYPE
        )

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """(least, greatest) priority."""
        return _C.PRIORITY_RANGE

    @property
    def priority(self) -> int:
        """-3 (served first) to 0."""
        return _C.stream_priority(self.device_index, self.stream_id)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.spyre_stream)

    @property
    def spyre_stream(self) -> int:
        """The native handle, for get_stream_from_external()."""
        return self.stream_id

    def wait_event(self, event: torch.Event) -> None:
        """Later work of this stream waits for the event; the host does not."""
        event.wait(self)

    def wait_stream(self, stream: torch.Stream) -> None:
        """Later work of this stream waits for the work `stream` holds now."""
        self.wait_event(stream.record_event())

    def record_event(self, event: torch.Event | None = None) -> torch.Event:
        """Records an event (a new one when None) and returns it."""
        if event is None:
            event = Event()
        event.record(self)
        return event

    def __eq__(self, other: object) -> bool:
        return isinstance(other, torch.Stream) and super().__eq__(other)

    def __hash__(self) -> int:
        return hash((self.stream_id, self.device))

    def __repr__(self) -> str:
        return f"<torch.spyre.Stream device={self.device} spyre_stream={self.stream_id:#x}>"


class ExternalStream(Stream):
    """A stream that something else created and keeps alive.

    Args:
        stream_ptr: its `spyre_stream`.
        device: the card it was made on.
    """

    def __new__(cls, stream_ptr: int, device: Device = None, **kwargs: Any) -> Stream:
        index = _get_device_index(device, optional=True)
        if not _C.is_stream(index, stream_ptr):
            raise ValueError(
                f"spyre:{index} has no stream with the handle {stream_ptr:#x}"
            )
        return super().__new__(
            cls, stream_id=stream_ptr, device_index=index, device_type=_DEVICE_TYPE
        )


class Event(torch.Event):
    """A point in a stream's work.

    Args:
        enable_timing: elapsed_time() needs it on both events.
        interprocess: ipc_handle() needs it; other processes may then wait for the event.
        blocking, external: as for CUDA; they make no difference here.
    """

    _shared: _C.SharedEvent | None = None

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.event_id)

    def __new__(
        cls,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> Event:
        event = super().__new__(
            cls,
            torch.device("spyre"),
            enable_timing=enable_timing,
            blocking=blocking,
            interprocess=interprocess,
        )
        if interprocess:
            event._shared = _C.SharedEvent()
        return event

    @classmethod
    def from_ipc_handle(cls, device: Device, handle: bytes) -> Event:
        """The event of another process; it must be alive. `device` is the card, as for CUDA.

        Raises:
            RuntimeError: the process that made the handle has ended or dropped the event.
        """
        _get_device_index(device, optional=True)
        try:
            process_id, descriptor, segment, nbytes = handle.decode().split(":")
            parts = (int(process_id), int(descriptor), segment, int(nbytes))
        except (AttributeError, ValueError) as error:
            raise ValueError(
                f"expected a handle of Event.ipc_handle(), got {handle!r}"
            ) from error
        event = cls()
        event._shared = _C.SharedEvent(*parts)
        return event

    def ipc_handle(self) -> bytes:
        """What from_ipc_handle() of another process takes.

        Raises:
            RuntimeError: the event was not made with interprocess=True.
        """
        if self._shared is None:
            raise RuntimeError(
                "ipc_handle() needs an event of Event(interprocess=True)"
            )
        return ":".join(str(part) for part in self._shared.handle()).encode()

    def record(self, stream: torch.Stream | None = None) -> None:
        """Records the event in a stream of its card; None is the current stream."""
        stream = current_stream() if stream is None else stream
        super().record(stream)
        if self._shared is not None:
            self._shared.record(stream.device_index, stream.stream_id)

    def wait(self, stream: torch.Stream | None = None) -> None:
        """Later work of `stream` (of any card) waits for the event."""
        stream = current_stream() if stream is None else stream
        if self._shared is None:
            super().wait(stream)
        else:
            self._shared.wait(stream.device_index, stream.stream_id)

    def query(self) -> bool:
        """True when the work that was recorded last has finished."""
        return super().query() if self._shared is None else self._shared.query()

    def synchronize(self) -> None:
        """The host waits for the work that was recorded last."""
        super().synchronize()
        if self._shared is not None:
            self._shared.synchronize()

    def elapsed_time(self, end_event: torch.Event) -> float:
        """Milliseconds from this event to `end_event`; both completed, with enable_timing."""
        if not isinstance(end_event, torch.Event):
            raise TypeError(f"expected a torch.Event, got {type(end_event).__name__}")
        if end_event.device.type != "spyre":
            raise ValueError(
                f"expected an event of spyre, got one of {end_event.device}"
            )
        # torch.Event.elapsed_time refuses subclasses of torch.Event as its argument.
        return _C.elapsed_ms(self.event_id, end_event.event_id)

    def __repr__(self) -> str:
        if self.event_id:
            return f"<torch.spyre.Event {self.event_id:#x}>"
        return "<torch.spyre.Event uninitialized>"


class StreamContext:
    """Makes a stream, and its card, current inside a with block; None changes nothing.

    One object may be entered again, also inside itself.
    """

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream
        # One entry per block: card, card of the stream, stream that was current there.
        self._previous: list[tuple[int, int, int]] = []

    def __enter__(self) -> torch.Stream | None:
        if self.stream is None:
            return None
        index = self.stream.device_index
        previous = (_C.current_device(), index, _C.current_stream_id(index))
        set_stream(self.stream)
        self._previous.append(previous)
        return self.stream

    def __exit__(self, *exc: object) -> None:
        if self.stream is None:
            return
        card, index, stream_id = self._previous.pop()
        _C.set_current_stream(index, stream_id)
        _C.exchange_device(card)


def stream(stream: torch.Stream | None) -> StreamContext:
    """Context manager that makes a stream current."""
    return StreamContext(stream)


def _stream(index: int, stream_id: int) -> Stream:
    return Stream(stream_id=stream_id, device_index=index, device_type=_DEVICE_TYPE)


def current_stream(device: Device = None) -> Stream:
    """This thread's current stream of a card."""
    index = _get_device_index(device, optional=True)
    return _stream(index, _C.current_stream_id(index))


def default_stream(device: Device = None) -> Stream:
    """Stream 0 of a card."""
    index = _get_device_index(device, optional=True)
    _C.current_stream_id(index)  # raises for an invalid index
    return _stream(index, 0)


def set_stream(stream: torch.Stream | None) -> None:
    """Makes a stream and its card current; None changes nothing."""
    if stream is not None:
        _set_stream_by_id(stream.stream_id, stream.device_index, stream.device_type)


def _set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
    if device_type != _DEVICE_TYPE:
        raise ValueError("Expected a stream of device type spyre")
    _C.set_current_stream(device_index, stream_id)
    _C.exchange_device(device_index)


def is_current_stream_capturing() -> bool:
    """True while a graph capture is underway on the current stream."""
    if not _C.is_initialized():
        return False
    index = _C.current_device()
    return _C.is_capturing(index, _C.current_stream_id(index))


def _sleep(cycles: int) -> None:
    """Keeps the current stream busy for `cycles` ns: work of known length, for tests."""
    index = _C.current_device()
    _C.sleep(index, _C.current_stream_id(index), int(cycles))
