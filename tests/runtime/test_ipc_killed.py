"""A process that is killed while it shares memory takes nothing with it and leaves nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PRODUCER_KILLED = """
def child(queue, event):
    queue.put(torch.ones(1000, device="spyre"))
    event.wait(120)

def main():
    process.start()
    x = queue.get(timeout=120)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert x.sum().item() == 1000 and (x + 1).sum().item() == 2000
"""
CONSUMER_KILLED = """
def child(queue, event):
    x = queue.get()
    event.set()
    time.sleep(120)

def main():
    process.start()
    x = torch.ones(1000, device="spyre")
    queue.put(x)
    assert event.wait(120)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert x.sum().item() == 1000
    del x
    torch.spyre.ipc_collect()
    assert torch.spyre.memory_allocated() == 0
"""
FRAME = """
import os, signal, time
import torch
import torch.multiprocessing as mp
{body}
if __name__ == "__main__":
    context = mp.get_context("spawn")
    queue, event = context.Queue(), context.Event()
    process = context.Process(target=child, args=(queue, event))
    main()
"""


@pytest.mark.parametrize(
    "body", [PRODUCER_KILLED, CONSUMER_KILLED], ids=["producer", "consumer"]
)
def test_a_killed_process(body: str, tmp_path: Path) -> None:
    script = tmp_path / "main.py"
    script.write_text(FRAME.format(body=body))
    before = set(Path("/dev/shm").glob("*spyre*"))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert set(Path("/dev/shm").glob("*spyre*")) <= before
