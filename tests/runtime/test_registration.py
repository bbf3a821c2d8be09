"""The device appears by `import torch` alone, cheaply, once."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs `code` in a new interpreter with this process's import path."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_import_torch_alone_registers_the_device() -> None:
    result = run_python(
        "import torch; print(torch.device('spyre:1'), torch.spyre.device_count())"
    )
    assert result.stdout.split() == ["spyre:1", "2"], result.stderr


def test_import_torch_spyre_first_works_and_is_idempotent() -> None:
    code = (
        "import torch_spyre, torch, torch_spyre._autoload as a; a.autoload();"
        "print(torch.ones(2, device='spyre').sum().item())"
    )
    result = run_python(code)
    assert result.stdout.strip() == "2.0", result.stderr


def test_autoload_can_be_switched_off_and_import_by_name_still_works() -> None:
    code = (
        "import torch; print(hasattr(torch, 'spyre'));"
        "import torch_spyre; print(torch.spyre.is_available())"
    )
    result = run_python(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert result.stdout.split() == ["False", "True"], result.stderr


def test_import_loads_no_compiler_and_initialises_nothing() -> None:
    code = (
        "import torch, sys;"
        "print([m for m in ('torch._dynamo', 'torch._inductor', 'spyre_inductor.registration',"
        " 'sympy', 'jinja2') if m in sys.modules], torch.spyre.is_initialized())"
    )
    result = run_python(code)
    assert result.stdout.strip() == "[] False", result.stdout + result.stderr


def test_a_wrong_environment_variable_is_named_when_torch_is_imported() -> None:
    result = run_python("import torch", SPYRE_DEVICE_COUNT="many")
    assert result.returncode != 0
    assert "SPYRE_DEVICE_COUNT" in result.stderr


@pytest.mark.parametrize(
    "path",
    [
        "_memory_viz",
        "amp",
        "graphs",
        "memory",
        "nccl",
        "nvtx",
        "operators",
        "profiler",
        "random",
        "streams",
    ],
)
def test_submodules_are_importable_by_path(path: str) -> None:
    module = __import__(f"torch.spyre.{path}", fromlist=["x"])
    assert module is sys.modules[f"torch_spyre.{path}"]
    assert getattr(torch.spyre, path) is module


def test_methods_are_generated_for_tensors_modules_and_storages() -> None:
    assert torch.ones(2).spyre().is_spyre
    assert torch.nn.Linear(2, 2).spyre().weight.is_spyre
    assert torch.ones(2).untyped_storage().spyre().device.type == "spyre"


def test_unknown_attribute_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = torch.spyre.nonsense
