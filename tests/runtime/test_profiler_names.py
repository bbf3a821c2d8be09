"""torch.spyre.profiler and torch.spyre.nvtx: CUDA's names over torch.profiler."""

from __future__ import annotations

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from tests.runtime.test_registration import run_python

spyre = torch.spyre


def test_start_and_stop_give_a_profile() -> None:
    spyre.profiler.start()
    with pytest.raises(RuntimeError, match="running already"):
        spyre.profiler.start()
    torch.ones(10, device="spyre") * 2
    rows = {row.key for row in spyre.profiler.stop().key_averages()}
    assert "aten::mul" in rows
    with pytest.raises(RuntimeError, match="not running"):
        spyre.profiler.stop()


def test_exit_while_recording() -> None:
    result = run_python(
        "import torch; torch.spyre.profiler.start(); torch.ones(2, device='spyre') + 1"
    )
    assert result.returncode == 0, result.stderr


def test_nvtx_ranges_land_in_the_profile() -> None:
    with profile(activities=[ProfilerActivity.CPU]) as result:
        assert spyre.nvtx.range_push("outer") == 0
        with spyre.nvtx.range("inner {}", 7):
            spyre.nvtx.mark("instant")
        assert spyre.nvtx.range_pop() == 0
        spyre.nvtx.range_end(spyre.nvtx.range_start("crossing"))
    names = {row.key for row in result.key_averages()}
    assert {"outer", "inner 7", "instant", "crossing"} <= names
    assert spyre.nvtx.range_pop() == -1
