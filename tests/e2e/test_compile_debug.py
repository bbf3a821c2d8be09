"""TORCH_COMPILE_DEBUG=1: one folder per graph with every stage, and a reproduction that runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.sources import REPOSITORY

PROGRAM = """
import torch
def fn(x, y, bias):
    return torch.softmax(x @ y + bias, -1), x.sum(0)
args = [torch.randn(6, 8), torch.randn(8, 32), torch.randn(32)]
torch.compile(fn, backend="spyre")(*[a.to("spyre") for a in args])
"""


def run(program: Path, directory: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=directory,
        env={
            **os.environ,
            "TORCHINDUCTOR_CACHE_DIR": str(directory / "inductor"),
            "PYTHONPATH": str(REPOSITORY),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_folder_holds_every_stage_and_the_reproduction_runs(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    run(program, tmp_path, TORCH_COMPILE_DEBUG="1")
    (folder,) = tmp_path.glob("torch_compile_debug/run_*/torchinductor/model__*")
    names = {path.name for path in folder.iterdir()}
    assert names >= {
        "fx_graph_readable.py",
        "fx_graph_transformed.py",
        "ir_pre_fusion.txt",
        "ir_post_fusion.txt",
        "output_code.py",
        "spyre_plan.json",
        "spyre_kernel.cpp",
        "spyre_launch_plan.json",
        "spyre_build.json",
        "spyre_fusion.txt",
        "repro.py",
    }
    kernels = [
        plan["name"] for plan in json.loads((folder / "spyre_plan.json").read_text())
    ]
    source = (folder / "spyre_kernel.cpp").read_text()
    assert kernels and all(f"({name})" in source for name in kernels)
    steps = json.loads((folder / "spyre_launch_plan.json").read_text())["steps"]
    # The softmax and the sum do not depend on one another: one launch for both.
    assert kernels == ["spyre_fused__softmax_0", "spyre_fused_sum_1"]
    launched = [step["kernel"] for step in steps if step["type"] == "KernelStep"]
    assert launched == ["spyre_fused__softmax_0_group"]
    assert "ExternStep" in {step["type"] for step in steps}
    fusion = (folder / "spyre_fusion.txt").read_text()
    assert "cannot fuse" in fusion
    assert "stack_traces" not in fusion
    assert "command" in json.loads((folder / "spyre_build.json").read_text())
    assert "equal to CPU eager: 2 outputs" in run(folder / "repro.py", tmp_path)
