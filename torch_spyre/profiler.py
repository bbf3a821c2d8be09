"""Profiles of the device under the names of torch.cuda.profiler; torch.profiler does the work.

For everything else use torch.profiler.profile(activities=[CPU, SPYRE]) itself.
"""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch.profiler

__all__ = ["profile", "start", "stop"]

_running: list[torch.profiler.profile] = []


def start() -> None:
    """Starts to record operators, launches, kernels and copies.

    Raises:
        RuntimeError: a recording is running already.
    """
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as torch_profile

    if _running:
        raise RuntimeError("torch.spyre.profiler is running already: call stop() first")
    recording = torch_profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
    )
    recording.start()
    _running.append(recording)
    # PyTorch ends in a segmentation fault when the process exits with a profiler running.
    atexit.unregister(_stop_at_exit)
    atexit.register(_stop_at_exit)


def _stop_at_exit() -> None:
    if _running:
        stop()


def stop() -> torch.profiler.profile:
    """Stops and gives the profile, for key_averages() and export_chrome_trace().

    Raises:
        RuntimeError: no recording is running.
    """
    if not _running:
        raise RuntimeError("torch.spyre.profiler is not running: call start() first")
    recording = _running.pop()
    recording.stop()
    return recording


@contextlib.contextmanager
def profile() -> Iterator[torch.profiler.profile]:
    """Records inside the with block; gives the profile, complete after the block."""
    start()
    try:
        yield _running[-1]
    finally:
        stop()
