"""The host's OpenMP team does not stay while a thread feeds the card (device/stream.cpp)."""

from __future__ import annotations

import pytest
import torch

from tests.runtime.test_registration import run_python

COUNT = """
import os, torch
spyre = torch.spyre
x = torch.ones(1 << 17, device="spyre")  # queued, and divided over the executor's own team
def threads(): return len(os.listdir("/proc/self/task"))
x.add_(1)
spyre.synchronize()
alone = threads()
torch.ones(1 << 20).add_(1)
with_team = threads()
for _ in range(200): x.add_(1)
spyre.synchronize()
print(with_team - alone, threads() - alone)
host = torch.ones(1 << 20).add_(1)  # a new team is made on demand
assert host.sum().item() == 2 << 20 and x.sum().item() == 202 * (1 << 17)
"""


@pytest.mark.skipif(torch.get_num_threads() < 2, reason="no team on one core")
def test_a_thread_that_feeds_the_card_keeps_no_idle_team() -> None:
    result = run_python(COUNT)
    assert result.returncode == 0, result.stderr
    made, left = map(int, result.stdout.split())
    assert made == torch.get_num_threads() - 1
    assert left == 0
