"""Snapshots and history in the form that torch.cuda._memory_viz reads."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch.cuda import _memory_viz

spyre = torch.spyre
NBYTES = 3 << 20


@pytest.fixture
def recording() -> Iterator[None]:
    spyre.memory._record_memory_history(clear_history=True)
    yield
    spyre.memory._record_memory_history(None)


def allocate_here() -> torch.Tensor:
    return torch.empty(NBYTES, dtype=torch.uint8, device="spyre")


def test_snapshot_holds_the_block_of_a_tensor() -> None:
    x = allocate_here()
    blocks = [
        block for segment in spyre.memory_snapshot() for block in segment["blocks"]
    ]
    found = [block for block in blocks if block["address"] == x.data_ptr()]
    assert [block["state"] for block in found] == ["active_allocated"]
    assert found[0]["requested_size"] == NBYTES


def test_segments_are_covered_by_their_blocks() -> None:
    kept = allocate_here()
    for segment in spyre.memory_snapshot():
        sizes = [block["size"] for block in segment["blocks"]]
        assert sum(sizes) == segment["total_size"]
    assert kept.nbytes == NBYTES


@pytest.mark.usefixtures("recording")
def test_history_names_the_line_that_allocated() -> None:
    x = allocate_here()
    address = x.data_ptr()
    del x
    trace = spyre.memory._snapshot()["device_traces"][0]
    entries = [entry for entry in trace if entry.get("addr") == address]
    actions = [entry["action"] for entry in entries]
    assert actions == ["alloc", "free_requested", "free_completed"]
    frames = entries[0]["frames"]
    assert any(frame["name"] == "allocate_here" for frame in frames)
    assert entries[0]["size"] == NBYTES


@pytest.mark.usefixtures("recording")
def test_snapshot_names_the_line_of_live_memory() -> None:
    x = allocate_here()
    for segment in spyre.memory._snapshot()["segments"]:
        for block in segment["blocks"]:
            if block["address"] == x.data_ptr():
                names = [frame["name"] for frame in block["frames"]]
    assert "allocate_here" in names


@pytest.mark.usefixtures("recording")
def test_running_out_of_memory_is_recorded() -> None:
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1 << 46, dtype=torch.uint8, device="spyre")
    entry = spyre.memory._snapshot()["device_traces"][0][-1]
    assert entry["action"] == "oom"
    assert entry["size"] == 1 << 46
    assert entry["device_free"] > 0


def test_history_is_bounded_and_actions_can_be_skipped() -> None:
    spyre.memory._record_memory_history(
        max_entries=5, clear_history=True, skip_actions=["free_requested"]
    )
    try:
        for _ in range(20):
            allocate_here()
        trace = spyre.memory._snapshot()["device_traces"][0]
    finally:
        spyre.memory._record_memory_history(None)
    assert len(trace) == 5
    assert {entry["action"] for entry in trace} == {"alloc", "free_completed"}


def test_nothing_is_recorded_after_the_stop() -> None:
    spyre.memory._record_memory_history(clear_history=True)
    spyre.memory._record_memory_history(None)
    allocate_here()
    assert spyre.memory._snapshot()["device_traces"][0] == []


@pytest.mark.usefixtures("recording")
def test_memory_viz_reads_a_dumped_snapshot(tmp_path: Path) -> None:
    kept = allocate_here()
    path = tmp_path / "snapshot.pickle"
    spyre.memory._dump_snapshot(str(path))
    snapshot = pickle.loads(path.read_bytes())
    assert "Summary of segments" in _memory_viz.segsum(snapshot)
    assert "[0:3.0MiB]" in _memory_viz.trace(snapshot)
    assert "<html" in _memory_viz.trace_plot(snapshot)
    assert "<html" in _memory_viz.segment_plot(snapshot)
    assert kept.nbytes == NBYTES


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="enabled must be one of"):
        spyre.memory._record_memory_history("sometimes")
