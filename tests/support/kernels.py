"""Compiles KernelPlans with the host compiler and calls them through the kernel ABI."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.metadata
import importlib.util
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spyre_inductor.build.toolchain import Library, detect_toolchain, uses_library
from spyre_inductor.plan.kernel_plan import KernelGroup, KernelPlan
from spyre_inductor.render.environment import INCLUDE_DIR
from spyre_inductor.render.renderer import render_module

ROOT = Path(__file__).resolve().parents[2]
INCLUDES = (INCLUDE_DIR, ROOT / "torch_spyre" / "include")


class KernelError(ctypes.Structure):
    """spyre_kernel_error."""

    _fields_ = [
        ("code", ctypes.c_int),
        ("check", ctypes.c_int),
        ("value", ctypes.c_longlong),
        ("lower", ctypes.c_longlong),
        ("upper", ctypes.c_longlong),
    ]


class KernelArgs(ctypes.Structure):
    """spyre_kernel_args."""

    _fields_ = [
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        ("scalars", ctypes.POINTER(ctypes.c_longlong)),
        ("workspace", ctypes.c_void_p),
        ("error", ctypes.POINTER(KernelError)),
        ("first_check", ctypes.c_int),
        ("finished", ctypes.POINTER(ctypes.c_int)),
    ]


@dataclass(frozen=True)
class LaunchError:
    """What a kernel wrote to its error; code 0 is none."""

    code: int
    check: int
    value: int
    lower: int
    upper: int


@functools.cache
def build_directory() -> Path:
    """Modules of this test process; removed with the temporary directory at exit."""
    return Path(_temporary().name)


@functools.cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="spyre-kernels-")


@functools.cache
def torch_library() -> Library:
    """PyTorch's headers, found without importing torch."""
    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.origin is not None
    version = importlib.metadata.version("torch")
    return Library(str(Path(spec.origin).parent / "include"), version)


@functools.cache
def load_source(source: str, isa: str = "native") -> ctypes.CDLL:
    """Compiles one rendered module and loads it."""
    toolchain = detect_toolchain("g++", isa, INCLUDES, library=torch_library())
    stem = hashlib.sha256(f"{isa}\n{source}".encode()).hexdigest()[:16]
    cpp, so = build_directory() / f"{stem}.cpp", build_directory() / f"{stem}.so"
    cpp.write_text(source)
    done = subprocess.run(
        toolchain.compile_command(str(cpp), str(so), with_library=uses_library(source)),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stderr[:4000]}\n{source}"
    return ctypes.CDLL(str(so))


def launch(
    plan: KernelPlan,
    arrays: Sequence[np.ndarray],
    scalars: Sequence[int | float] = (),
    cores: int = 3,
    isa: str = "native",
) -> LaunchError:
    """Runs `plan` on arrays (one per buffer, in plan order, changed in place), core by core."""
    return launch_source(
        render_module([plan], "test"), plan, arrays, scalars, cores, isa
    )


def launch_group(
    group: KernelGroup,
    arrays: Sequence[np.ndarray],
    cores: int = 3,
    isa: str = "native",
) -> LaunchError:
    """Runs a group on arrays, one per buffer of its kernels in order."""
    source = render_module([*group.kernels, group], "test")
    return launch_source(source, group, arrays, (), cores, isa)


def launch_source(
    source: str,
    plan: KernelPlan | KernelGroup,
    arrays: Sequence[np.ndarray],
    scalars: Sequence[int | float] = (),
    cores: int = 3,
    isa: str = "native",
) -> LaunchError:
    """As launch, from text that was rendered before (several plans in one module)."""
    assert len(arrays) == len(plan.buffers)
    addresses = [array.ctypes.data for array in arrays]
    return _call(source, plan, addresses, scalars, cores, isa)


def launch_addresses(
    plan: KernelPlan,
    addresses: Sequence[int],
    scalars: Sequence[int | float] = (),
    cores: int = 3,
    isa: str = "native",
) -> LaunchError:
    """As launch, on memory given by address (one per buffer, in plan order)."""
    source = render_module([plan], "test")
    return _call(source, plan, addresses, scalars, cores, isa)


def _call(
    source: str,
    plan: KernelPlan | KernelGroup,
    buffers: Sequence[int],
    scalars: Sequence[int | float],
    cores: int,
    isa: str,
) -> LaunchError:
    entry = getattr(load_source(source, isa), plan.name)
    entry.argtypes = (ctypes.POINTER(KernelArgs), ctypes.c_int, ctypes.c_int)
    entry.restype = None
    addresses = (ctypes.c_void_p * max(1, len(buffers)))(*buffers)
    values = (ctypes.c_longlong * max(1, len(scalars)))(*map(_scalar_bits, scalars))
    workspace_bytes = 0 if isinstance(plan, KernelGroup) else plan.workspace_bytes
    workspace = ctypes.create_string_buffer(max(1, workspace_bytes))
    error, finished = KernelError(), ctypes.c_int(0)
    args = KernelArgs(
        addresses,
        values,
        ctypes.addressof(workspace),
        ctypes.pointer(error),
        0,
        ctypes.pointer(finished),
    )
    for core in range(cores):
        entry(ctypes.byref(args), core, cores)
    return LaunchError(error.code, error.check, error.value, error.lower, error.upper)


def _scalar_bits(value: int | float) -> int:
    if isinstance(value, float):
        return int(np.float64(value).view(np.int64))
    return value


def run(
    plan: KernelPlan,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
    scalars: Sequence[int | float] = (),
    cores: int = 3,
    isa: str = "native",
) -> Mapping[str, np.ndarray]:
    """Launches with named arrays and gives the outputs; fails when a check of the plan fails."""
    arrays = [{**inputs, **outputs}[argument.name] for argument in plan.buffers]
    error = launch(plan, arrays, scalars, cores, isa)
    assert error.code == 0, error
    return outputs
