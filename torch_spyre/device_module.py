"""torch.spyre: what users see. Names and argument forms are those of torch.cuda."""

from __future__ import annotations

from typing import Any

import torch
from torch import OutOfMemoryError  # noqa: F401

from torch_spyre import (  # noqa: F401
    _compile_hook,
    _memory_viz,
    amp,
    comm,
    graphs,
    memory,
    nccl,
    nvtx,
    operators,
    profiler,
    random,
    streams,
    tunable,
)
from torch_spyre.devices import *  # noqa: F403
from torch_spyre.devices import (  # noqa: F401
    _exchange_device,
    _get_device_index,
    _is_in_bad_fork,
    _lazy_call,
    _lazy_init,
    _maybe_exchange_device,
)
from torch_spyre.graphs import *  # noqa: F403
from torch_spyre.legacy_types import *  # noqa: F403
from torch_spyre.legacy_types import sparse  # noqa: F401
from torch_spyre.memory import *  # noqa: F403
from torch_spyre.memory import (  # noqa: F401
    _attach_out_of_memory_observer,
    _dump_snapshot,
    _get_memory_metadata,
    _record_memory_history,
    _set_memory_metadata,
    _snapshot,
)
from torch_spyre.multiprocessing import ipc_collect  # noqa: F401
from torch_spyre.operators import *  # noqa: F403
from torch_spyre.random import *  # noqa: F403
from torch_spyre.random import _get_rng_state_offset, _set_rng_state_offset  # noqa: F401
from torch_spyre.sensors import *  # noqa: F403
from torch_spyre.streams import *  # noqa: F403
from torch_spyre.streams import _set_stream_by_id, _sleep  # noqa: F401

# Every error of the device; carries CUDA's numbers in `error_code` where one fits.
SpyreError = torch.AcceleratorError

_STATUS = {0: "no error", 2: "out of memory", 101: "invalid device ordinal"}
_STATUS |= {401: "illegal state of a capture", 710: "a kernel's check failed"}


def check_error(res: int) -> None:
    """Raises SpyreError with `res` as its error_code, unless `res` is 0."""
    if int(res) != 0:
        error = SpyreError(f"{_STATUS.get(int(res), 'Spyre error')} ({int(res)})")
        error.error_code = int(res)
        raise error


def get_amp_supported_dtype() -> list[torch.dtype]:
    """The dtypes that torch.autocast("spyre") may cast to; the first is its default."""
    return [torch.float16, torch.bfloat16]


def __getattr__(name: str) -> Any:
    # Checkpointing keeps random states only of a device that has this.
    if name == "_initialized":
        return is_initialized()  # noqa: F405
    if name in _compile_hook.INDUCTOR_ATTRIBUTES:
        _compile_hook.register_compiler()
    raise AttributeError(f"module 'torch.spyre' has no attribute {name!r}")
