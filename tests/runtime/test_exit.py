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


def test_a_long_queue_does_not_hold_up_the_exit() -> None:
    """The queue holds minutes of work; what is left after the grace is abandoned."""
    result = run_python(
        "import torch, time, torch_spyre.devices as d; d.EXIT_GRACE_S = 0.1\n"
        "x = torch.ones(1500, 1500, device='spyre')\n"
        "for _ in range(1500): y = x @ x\n"
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""


def test_a_daemon_thread_that_waits_for_the_card_does_not_abort_the_process() -> None:
    """It asks for the GIL while Python is torn down, from inside a destructor."""
    result = run_python(
        "import torch, threading, time, torch_spyre.devices as d; d.EXIT_GRACE_S = 0\n"
        "x = torch.ones(1000, 1000, device='spyre')\n"
        "def wait():\n"
        "    while True: torch.spyre.synchronize()\n"
        "for _ in range(20): y = x @ x\n"
        "for _ in range(4): threading.Thread(target=wait, daemon=True).start()\n"
        "time.sleep(0.1)\n"
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
