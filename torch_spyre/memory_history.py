"""Snapshots and the recorded history of device memory, in the form torch.cuda._memory_viz reads."""

from __future__ import annotations

import pickle
import sys
from typing import Any, Literal

from torch_spyre import _C
from torch_spyre.devices import Device


def memory_snapshot(
    mempool_id: tuple[int, int] | None = None, include_traces: bool = True
) -> list[dict[str, Any]]:
    """All segments with their blocks, of all cards or of one pool.

    Args:
        mempool_id: id of a MemPool or graph pool; None means every pool.
        include_traces: accepted as for CUDA; segments carry no trace.
    """
    segments = _C.memory_segments()
    if mempool_id is None:
        return segments
    return [s for s in segments if tuple(s["segment_pool_id"]) == tuple(mempool_id)]


def _snapshot(
    device: Device = None, augment_with_fx_traces: bool = False
) -> dict[str, Any]:
    """Segments and, per card, the recorded trace entries."""
    return {
        "segments": _C.memory_segments(),
        "device_traces": _C.memory_traces(),
        "allocator_settings": {"PYTORCH_SPYRE_ALLOC_CONF": "", "backend": "native"},
    }


def _dump_snapshot(
    filename: str = "dump_snapshot.pickle", augment_with_fx_traces: bool = False
) -> None:
    """Pickles _snapshot() to a file that pytorch.org/memory_viz opens."""
    with open(filename, "wb") as file:
        pickle.dump(_snapshot(augment_with_fx_traces=augment_with_fx_traces), file)


def _set_memory_metadata(metadata: str) -> None:
    """Text that every later entry of the history carries as "user_metadata"."""
    _C.set_memory_metadata(metadata)


def _get_memory_metadata() -> str:
    """The text of _set_memory_metadata(); "" at first."""
    return _C.memory_metadata()


def _save_segment_usage(
    filename: str = "output.svg", snapshot: dict[str, Any] | None = None
) -> None:
    """Writes a flame graph of segments; torch fetches the script that draws it at its first use."""
    from torch.cuda._memory_viz import segments

    with open(filename, "w", encoding="utf-8") as file:
        file.write(segments(snapshot or _snapshot()))


def _save_memory_usage(
    filename: str = "output.svg", snapshot: dict[str, Any] | None = None
) -> None:
    """Writes a flame graph of memory in use; see _save_segment_usage()."""
    from torch.cuda._memory_viz import memory

    with open(filename, "w", encoding="utf-8") as file:
        file.write(memory(snapshot or _snapshot()))


def _record_memory_history(
    enabled: Literal["state", "all"] | None = "all",
    context: Literal["state", "alloc", "all"] | None = "all",
    stacks: Literal["python", "all"] = "all",
    max_entries: int = sys.maxsize,
    device: Device = None,
    clear_history: bool = False,
    compile_context: bool = False,
    skip_actions: list[str] | None = None,
) -> None:
    """Starts or stops recording where memory was allocated and freed.

    Args:
        enabled: None stops; "state" keeps stacks of live memory; "all" also keeps the history.
        context: for which entries stacks are taken.
        stacks: "python", or "all" with C++ frames.
        max_entries: length of the history, per card; the oldest go first.
        clear_history: forget what was recorded.
        skip_actions: names of actions to leave out.
    """
    for name, value, allowed in (
        ("enabled", enabled, (None, "state", "all")),
        ("context", context, (None, "state", "alloc", "all")),
        ("stacks", stacks, ("python", "all")),
    ):
        if value not in allowed:
            raise ValueError(f"{name} must be one of {allowed}, got {value!r}")
    _C.record_memory_history(
        enabled,
        context,
        stacks == "all",
        max_entries,
        clear_history,
        skip_actions or [],
    )
