"""The older profiler modes: event times without kineto, and markers."""

from __future__ import annotations

import torch
from torch._C._profiler import ProfilerConfig, ProfilerState, _ExperimentalConfig
from torch.autograd import profiler


def test_times_from_events_without_kineto() -> None:
    x = torch.rand(512, 512, device="spyre")
    with profiler.profile(use_device="spyre", use_kineto=False) as profiled:
        x @ x
    mm = next(row for row in profiled.key_averages() if row.key == "aten::mm")
    assert mm.device_time_total > 0


def test_autograd_profiler_with_kineto() -> None:
    x = torch.rand(512, 512, device="spyre")
    with profiler.profile(use_device="spyre") as profiled:
        x @ x
        torch.spyre.synchronize()
    mm = next(row for row in profiled.key_averages() if row.key == "aten::mm")
    assert mm.device_time_total > 0


def test_marker_mode_runs_and_ends() -> None:
    config = ProfilerConfig(
        ProfilerState.PRIVATEUSE1,
        False,
        False,
        False,
        False,
        False,
        _ExperimentalConfig(),
    )
    for _ in range(2):
        profiler._enable_profiler(config, set())
        assert torch.equal(
            (torch.ones(2, device="spyre") + 1).cpu(), torch.full((2,), 2.0)
        )
        profiler._disable_profiler()
    assert not torch.autograd._profiler_enabled()
