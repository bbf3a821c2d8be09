"""Builds kernel modules beside the rest of compilation.

The wrapper calls `begin_build` as soon as a graph's source is rendered; the generated module takes
the build over a few milliseconds later and waits for it at the graph's first call. In a process
that got the graph from Inductor's cache the module starts it.
"""

from __future__ import annotations

import base64
import functools
import os
import threading
import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

import codegen_templates
import torch_spyre

from .. import config
from ..build.ahead import UnitsAhead
from ..build.compile import Steps, build_steps
from ..build.entry import CacheEntry
from ..build.kernel_cache import KernelCache, open_cache
from ..build.toolchain import Library, Toolchain, detect_toolchain
from ..errors import SpyreError

_lock = threading.Lock()
_in_flight: dict[tuple[str, str], Build] = {}


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
    # The compiler is a process of its own; a thread only waits for it, or for another's lock.
    return ThreadPoolExecutor(max_workers=8, thread_name_prefix="spyre-build")


@dataclass(frozen=True)
class Build:
    """A module that is being built, or has been, with what config named when it began."""

    source: str
    plans_json: str
    toolchain: Toolchain
    cache: KernelCache
    entry: Future[CacheEntry]

    @classmethod
    def start(
        cls, source: str, plans_json: str, ahead: UnitsAhead | None = None
    ) -> Build:
        # Config is read here: patches of it belong to the calling thread.
        parts = (source, plans_json, current_toolchain(), current_cache())
        return cls(*parts, _begin(*parts, ahead))

    def again(self) -> Build:
        """The same build once more, after it failed."""
        parts = (self.source, self.plans_json, self.toolchain, self.cache)
        return Build(*parts, _begin(*parts))


def _begin(
    source: str,
    plans_json: str,
    toolchain: Toolchain,
    cache: KernelCache,
    ahead: UnitsAhead | None = None,
) -> Future[CacheEntry]:
    """Starts the compiler in this thread; another waits for it."""
    entry: Future[CacheEntry] = Future()
    steps = build_steps(source, plans_json, toolchain, cache, ahead)
    if _advance(steps, entry):
        _builders().submit(_finish, steps, entry)
    return entry


def _advance(steps: Steps[CacheEntry], entry: Future[CacheEntry]) -> bool:
    """Whether there is more to do; if not, `entry` has the result or the error."""
    try:
        next(steps)
    except StopIteration as done:
        entry.set_result(done.value)
    except Exception as error:
        entry.set_exception(error)
    else:
        return True
    return False


def _finish(steps: Steps[CacheEntry], entry: Future[CacheEntry]) -> None:
    while _advance(steps, entry):
        pass


def start_ahead() -> UnitsAhead | None:
    """Compilers for a graph whose kernels are not known yet; None where they cannot help."""
    if (os.cpu_count() or 1) == 1:
        return None
    try:
        return UnitsAhead(current_toolchain(), current_cache())
    except SpyreError:  # raised again, for the user, if there is a kernel to build
        return None


def begin_build(source: str, plans_json: str, ahead: UnitsAhead | None = None) -> None:
    """Starts the build of a rendered module, for `take_build`."""
    build = Build.start(source, plans_json, ahead)
    with _lock:
        _in_flight[source, plans_json] = build


def take_build(source: str, plans_json: str) -> Build:
    """The build that `begin_build` started, or one that starts now."""
    with _lock:
        build = _in_flight.pop((source, plans_json), None)
    return build or Build.start(source, plans_json)


def pack_plans(plans_json: str) -> str:
    """Compact text of the plans for the generated code; `unpack_plans` reverses it."""
    return base64.b64encode(zlib.compress(plans_json.encode(), 9)).decode()


def unpack_plans(packed: str) -> str:
    return zlib.decompress(base64.b64decode(packed)).decode()
