"""Calls of the generic path are counted per operator and can be listed."""

from __future__ import annotations

import torch

spyre = torch.spyre


def test_calls_are_counted_by_how_they_ran() -> None:
    x = torch.arange(8.0, device="spyre")
    spyre.synchronize()
    spyre.reset_operator_calls()
    assert spyre.operator_calls() == {}
    torch.lerp(x, x, 0.5)
    x.nonzero()
    calls = spyre.operator_calls()
    lerp = next(row for name, row in calls.items() if name.startswith("aten::lerp"))
    nonzero = calls["aten::nonzero"]
    assert lerp.inline == lerp.total == 1
    assert nonzero.total == nonzero.inline + nonzero.queued + nonzero.waited == 1


def test_most_called_first_and_summary() -> None:
    x = torch.arange(4.0, device="spyre")
    spyre.reset_operator_calls()
    for _ in range(3):
        torch.lerp(x, x, 0.5)
    torch.frac(x)
    names = list(spyre.operator_calls())
    assert names[0].startswith("aten::lerp")
    summary = spyre.operator_summary(limit=1)
    assert "aten::lerp" in summary and "more operators" in summary
    spyre.reset_operator_calls()
    assert spyre.operator_calls() == {}
