"""Registers the device "spyre" with PyTorch, once; the `torch.backends` entry point.

Runs during `import torch`, so it imports nothing of torch._dynamo or torch._inductor.
"""

from __future__ import annotations

import atexit
import functools
import sys

DEVICE_NAME = "spyre"

# Importable by path, as torch.cuda.memory and its like are.
_SUBMODULES = (
    "_memory_viz",
    "amp",
    "comm",
    "graphs",
    "memory",
    "nccl",
    "nvtx",
    "operators",
    "profiler",
    "random",
    "streams",
    "tunable",
)


@functools.cache
def autoload() -> None:
    """Renames PrivateUse1 to "spyre" and attaches `torch.spyre`. Safe to call again."""
    import torch

    torch.utils.rename_privateuse1_backend(DEVICE_NAME)
    from torch_spyre import (
        _compile_hook,
        comm,
        device_module,
        devices,
        fake_tensors,
        multiprocessing,
        tensor_exchange,
    )

    torch._register_device_module(DEVICE_NAME, device_module)
    for name in _SUBMODULES:
        sys.modules[f"torch.{DEVICE_NAME}.{name}"] = sys.modules[f"torch_spyre.{name}"]
    device_module._utils = (
        devices  # third-party code takes _get_device_index from there
    )
    sys.modules[f"torch.{DEVICE_NAME}._utils"] = devices
    sys.modules[f"torch.{DEVICE_NAME}.sparse"] = device_module.sparse
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    tensor_exchange.register()
    comm.register()
    multiprocessing.register()
    fake_tensors.register()
    _compile_hook.watch_imports()
    atexit.register(devices.drain_at_exit)
