"""A small real kernel module for tests of build, cache and CLI, and a process that builds it.

`python -m tests.support.modules DIRECTORY [--cxx CXX] [--salt TEXT]` builds and loads it, then
prints {"hit", "so_path", "value", "here", "all"} as JSON. No torch.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

from spyre_inductor.build.compile import build_module
from spyre_inductor.build.entry import CacheEntry
from spyre_inductor.build.kernel_cache import KernelCache, open_cache
from spyre_inductor.build.toolchain import Toolchain, detect_toolchain

REPOSITORY = Path(__file__).resolve().parents[2]
INCLUDE = REPOSITORY / "torch_spyre" / "include"
CXX = os.environ.get("CXX", "g++")
MAX_BYTES = 1 << 30

SOURCE = """
#include "spyre/kernel_abi.h"
#define EXPORT extern "C" __attribute__((visibility("default")))
EXPORT const int spyre_kernel_abi_version = SPYRE_KERNEL_ABI_VERSION;
EXPORT int answer() { return 42; }
"""
PLANS = json.dumps([{"name": "answer", "template": "pointwise"}])


def toolchain(cxx: str = CXX, isa: str = "native") -> Toolchain:
    return detect_toolchain(cxx, isa, [INCLUDE])


def build(cache: KernelCache, salt: str = "", cxx: str = CXX) -> CacheEntry:
    """Builds the module; another `salt` gives another key."""
    return build_module(SOURCE + f"// {salt}\n", PLANS, toolchain(cxx), cache)


def answer(entry: CacheEntry) -> int:
    return ctypes.CDLL(str(entry.so_path)).answer()


def start_worker(
    directory: Path, *words: str, **options: object
) -> subprocess.Popen[str]:
    """Builds in another process, which is returned while it runs."""
    command = [sys.executable, "-m", "tests.support.modules", str(directory), *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=REPOSITORY, stdout=pipe, stderr=pipe, text=True, **options
    )


def finish_worker(worker: subprocess.Popen[str]) -> dict:
    """Its JSON, with its standard error under "stderr"."""
    out, err = worker.communicate(timeout=120)
    assert worker.returncode == 0, err
    return {**json.loads(out), "stderr": err}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--cxx", default=CXX)
    parser.add_argument("--salt", default="")
    arguments = parser.parse_args()
    cache = open_cache(arguments.directory, MAX_BYTES)
    entry = build(cache, arguments.salt, arguments.cxx)
    result = {
        "hit": entry.hit,
        "so_path": str(entry.so_path),
        "value": answer(entry),
        "here": dict(cache.statistics.here),
        "all": cache.statistics.read(),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
