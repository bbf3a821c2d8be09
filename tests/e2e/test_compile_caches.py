"""Caches across processes: a second process compiles nothing, no change serves an old kernel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.sources import REPOSITORY

PROGRAM = """
import json, sys
import torch
from torch._dynamo.utils import counters
device = sys.argv[1]
def fn(x, w):
    return (x @ w).relu().sum(-1)
x, w = torch.ones(4, 8), torch.ones(8, 3, requires_grad=True)
x, w = x.to(device), w.detach().to(device).requires_grad_()
out = torch.compile(fn, backend=sys.argv[2])(x, w)
out.sum().backward()
from spyre_inductor.launch.async_compile import current_cache
print(json.dumps({
    "kernels": current_cache().statistics.here["compiles"],
    "hits": current_cache().statistics.here["hits"],
    "fx_misses": counters["inductor"]["fxgraph_cache_miss"],
    "aot_hits": counters["aot_autograd"]["autograd_cache_hit"],
    "sum": out.sum().item(), "device": str(out.device),
}))
"""


class Runner:
    """Runs PROGRAM in processes that share one cache directory."""

    def __init__(self, directory: Path) -> None:
        self.cache = directory / "inductor"
        self.program = directory / "program.py"
        self.program.write_text(PROGRAM)

    def __call__(
        self, device: str = "spyre", backend: str = "spyre", **environment: str
    ) -> dict:
        done = subprocess.run(
            [sys.executable, str(self.program), device, backend],
            env={
                **os.environ,
                "TORCHINDUCTOR_CACHE_DIR": str(self.cache),
                "PYTHONPATH": str(REPOSITORY),
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout.splitlines()[-1])
        assert result["sum"] == 4 * 8 * 3
        return result


@pytest.fixture
def run(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_second_process_compiles_nothing_and_a_lost_entry_is_rebuilt(
    run: Runner,
) -> None:
    first = run()
    assert first["kernels"] == 2  # forward and backward: one module each
    second = run()
    assert second["kernels"] == 0
    assert second["hits"] == 2
    assert second["aot_hits"] == 1
    entries = run.cache / "spyre" / "entries"
    plans = {path.name: (path / "plan.json").read_text() for path in entries.iterdir()}
    shutil.rmtree(entries)
    third = run()
    assert third["kernels"] == 2
    assert third["aot_hits"] == 1
    rebuilt = {
        path.name: (path / "plan.json").read_text() for path in entries.iterdir()
    }
    assert rebuilt == plans


def test_changed_flags_are_a_miss_everywhere(run: Runner) -> None:
    run()
    scalar = run(SPYRE_CODEGEN_ISA="scalar")
    assert scalar["kernels"] == 2
    assert scalar["aot_hits"] == 0


def test_cpu_graph_and_card_graph_are_told_apart(run: Runner) -> None:
    ours = run("cpu")
    assert ours["device"] == "cpu"
    assert ours["kernels"] == 2
    on_card = run("spyre")
    assert on_card["device"] == "spyre:0"
    assert on_card["aot_hits"] == 0
    again = run("cpu")
    assert again["kernels"] == 0
    assert again["aot_hits"] == 1
