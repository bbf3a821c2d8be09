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


@pytest.mark.parametrize("device", ["spyre", "cpu"])
@pytest.mark.parametrize(
    "loop",
    [
        "y = (x @ x).relu_().sum(); z = torch.ones(10, device=x.device) + 1",
        "y = torch.ones(10, device=x.device) + 1; w = y.sum().item()",
        "(m(x).sum()).backward(); m.zero_grad()",
    ],
    ids=["queued", "inline", "backward"],
)
def test_daemon_threads_that_run_operators_do_not_abort_the_process(
    loop: str, device: str
) -> None:
    """Python ends them inside PyTorch's bindings, whose destructors must not throw."""
    result = run_python(
        "import os, torch, threading, time\n"
        "os.environ['TORCH_AUTOGRAD_SHUTDOWN_WAIT_LIMIT'] = '0'  # it waits for its threads\n"
        "def run():\n"
        f"    x = torch.ones(200, 200, device='{device}')\n"
        f"    m = torch.nn.Linear(200, 200).to('{device}')\n"
        f"    while True: {loop}\n"
        "for _ in range(4): threading.Thread(target=run, daemon=True).start()\n"
        "time.sleep(0.3)\n"
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""


def test_a_true_terminate_still_ends_the_process() -> None:
    """Only a thread that Python ends stays; an exception nobody catches aborts as before."""
    result = run_python(
        "import ctypes, torch\n"
        "terminate = ctypes.CDLL('libstdc++.so.6')._ZSt9terminatev\n"
        "terminate()\n"
    )
    assert result.returncode == -6


@pytest.mark.parametrize(
    ("end", "code"),
    [("", 0), ("raise ValueError('mine')", 1), ("import sys; sys.exit(4)", 4)],
)
def test_an_error_nobody_asked_for_is_printed(end: str, code: int) -> None:
    result = run_python(
        "import torch\n"
        "a = torch.zeros(200_000, device='spyre')\n"
        "i = torch.full((200_000,), 300_000, device='spyre')\n"
        "torch.spyre.synchronize()\n"
        "b = a.index_select(0, i)\n" + end
    )
    assert result.returncode == code
    assert "index out of range" in result.stderr


def test_os_exit_does_not_wait() -> None:
    result = run_python(WORK + "import os; os._exit(7)")
    assert result.returncode == 7 and result.stderr == ""


@pytest.mark.parametrize("when", ["before", "after"])
def test_handlers_at_exit_may_use_the_card(when: str) -> None:
    """Those that were registered before the import run after the device's own."""
    register = "import atexit; atexit.register(lambda: print((x * 2).sum().item()))\n"
    load = "import torch; x = torch.ones(1 << 20, device='spyre')\n"
    result = run_python(register + load if when == "before" else load + register)
    assert (result.returncode, result.stderr) == (0, "")
    assert float(result.stdout) == 2 << 20
