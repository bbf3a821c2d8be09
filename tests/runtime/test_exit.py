"""The process ends cleanly with work in flight."""

from __future__ import annotations

import pytest

from tests.runtime.test_registration import run_python

WORK = "import torch\nx = torch.ones(1 << 22, device='spyre')\nfor _ in range(50): x = x * 1.5\n"


@pytest.mark.parametrize(
    "end",
    [
        "",
        "import sys; sys.exit(0)",
        "import threading; threading.Thread(target=lambda: x.sum().item()).start()",
        "e = torch.spyre.Event(); e.record(); s = torch.spyre.Stream(); s.wait_event(e)",
        "g = torch.spyre.SpyreGraph()\nwith torch.spyre.graph(g): x += 1\ng.replay()",
    ],
)
def test_exit_with_work_in_flight(end: str) -> None:
    result = run_python(WORK + end)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""


def test_an_exception_ends_the_process_with_its_own_code() -> None:
    result = run_python(WORK + "raise SystemExit(3)")
    assert result.returncode == 3
