"""Builds kernel modules beside the rest of compilation.

The wrapper calls `begin_build` as soon as a graph's source is rendered; the generated module asks
for the same source a few milliseconds later and finds the build under way. In a process that got
the graph from Inductor's cache only the second call happens.
"""

from __future__ import annotations

import base64
import functools
import threading
import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import torch

import codegen_templates
import torch_spyre

from .. import config
from ..build.compile import build_module
from ..build.entry import CacheEntry
from ..build.kernel_cache import KernelCache, open_cache
from ..build.toolchain import Library, Toolchain, detect_toolchain

_lock = threading.Lock()
_in_flight: dict[tuple[str, str], Future[CacheEntry]] = {}


def include_dirs() -> tuple[Path, ...]:
    """Directories of the kernel headers."""
    return (
        Path(codegen_templates.__file__).parent / "include",
        Path(torch_spyre.__file__).parent / "include",
    )


def current_toolchain() -> Toolchain:
    """The toolchain that config names now. Raises CompileError or UnsupportedError."""
    return detect_toolchain(
        config.cxx, config.isa, include_dirs(), config.fp_contract, torch_library()
    )


def torch_library() -> Library:
    """The installed PyTorch's headers."""
    root = Path(torch.__file__).parent
    return Library(str(root / "include"), torch.__version__)


@functools.lru_cache(maxsize=8)
def _cache_at(directory: Path, max_bytes: int) -> KernelCache:
    return open_cache(directory, max_bytes)


def current_cache() -> KernelCache:
    """The kernel cache that config and environment name now."""
    return _cache_at(config.kernel_cache_directory(), config.cache_max_bytes)


@functools.cache
def _builders() -> ThreadPoolExecutor:
    # The compiler is a process of its own; a thread only waits for it.
    return ThreadPoolExecutor(max_workers=2, thread_name_prefix="spyre-build")


def begin_build(source: str, plans_json: str) -> Future[CacheEntry]:
    """Starts the build of a rendered module, or finds the one already under way."""
    with _lock:
        future = _in_flight.get((source, plans_json))
        if future is None:
            # Config is read here: patches of it belong to the calling thread.
            toolchain, cache = current_toolchain(), current_cache()
            future = _builders().submit(
                build_module, source, plans_json, toolchain, cache
            )
            _in_flight[source, plans_json] = future
        return future


def finish_build(source: str, plans_json: str) -> CacheEntry:
    """Waits for the build. Raises CompileError, CacheError."""
    future = begin_build(source, plans_json)
    try:
        return future.result()
    finally:
        with _lock:
            _in_flight.pop((source, plans_json), None)


def pack_plans(plans_json: str) -> str:
    """Compact text of the plans for the generated code; `unpack_plans` reverses it."""
    return base64.b64encode(zlib.compress(plans_json.encode(), 9)).decode()


def unpack_plans(packed: str) -> str:
    return zlib.decompress(base64.b64decode(packed)).decode()
