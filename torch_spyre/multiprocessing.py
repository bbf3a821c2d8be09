"""Spyre tensors and events in queues and pipes of torch.multiprocessing: shared, not copied.

What CUDA's reductions do, with two differences that only help: a receiver may send a tensor on, and
it may outlive the process that it came from. See Note [Sharing between processes] in
csrc/runtime/shared_segment.h.
"""

from __future__ import annotations

import multiprocessing.reduction
from collections.abc import Callable
from typing import Any

import torch
from torch.multiprocessing import reductions

from torch_spyre import _C
from torch_spyre.streams import Event

__all__ = ["ipc_collect"]

Handle = tuple[int, int, str, int]  # process, descriptor, id, bytes


def ipc_collect() -> None:
    """Frees memory of sent tensors that were received and that this process has dropped."""
    _C.collect_shared_memory()


def _as_bytes(storage: torch.UntypedStorage) -> torch.Tensor:
    """A uint8 tensor of shape [0] on the storage: how a storage crosses into C++."""
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(
        storage, 0, (0,)
    )


def _rebuild_storage(handle: Handle, card: int) -> torch.UntypedStorage:
    key = ("spyre", handle[2])
    storage = reductions.storage_from_cache(torch.UntypedStorage, key)
    if storage is not None:  # arrived before, or its own producer receives it
        _C.acknowledge_shared(_as_bytes(storage))
        return storage
    storage = _C.open_shared(*handle, card).untyped_storage()
    reductions.shared_cache[key] = reductions.StorageWeakRef(storage)
    return storage


def _rebuild_empty_storage(card: int) -> torch.UntypedStorage:
    return torch.UntypedStorage(0, device=torch.device("spyre", card))


def _reduce_storage(
    storage: torch.UntypedStorage,
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    if storage.device.type != "spyre":
        return reductions.reduce_storage(storage)
    card = storage.device.index
    if storage.nbytes() == 0:
        return _rebuild_empty_storage, (card,)
    handle = _C.share_storage(_as_bytes(storage))
    reductions.shared_cache["spyre", handle[2]] = reductions.StorageWeakRef(storage)
    return _rebuild_storage, (handle, card)


def _rebuild_event(device: torch.device, handle: bytes) -> Event:
    return Event.from_ipc_handle(device, handle)


def _reduce_event(event: Event) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return _rebuild_event, (event.device, event.ipc_handle())


def register() -> None:
    """Teaches multiprocessing's pickler the storages and events of this device. Idempotent.

    Tensors, parameters and typed storages reduce to their untyped storage, so this one suffices.
    """
    multiprocessing.reduction.register(torch.UntypedStorage, _reduce_storage)
    multiprocessing.reduction.register(Event, _reduce_event)
