"""`spyre-inductor env`: what a maintainer needs to know about an installation."""

from __future__ import annotations

import argparse
import os
import platform
import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from spyre_inductor.build.cache_location import cache_directory
from spyre_inductor.build.eviction import stored_entries
from spyre_inductor.build.statistics import Statistics
from spyre_inductor.build.toolchain import detect_toolchain
from spyre_inductor.errors import SpyreError

_PACKAGES = ("torch-spyre", "torch", "numpy", "jinja2", "filelock")
_VARIABLES = re.compile(
    r"^(SPYRE_|TORCH_LOGS$|TORCHINDUCTOR_|TORCH_COMPILE_DEBUG$|OMP_|CXX$)"
)


def report(
    _: argparse.Namespace, environment: Mapping[str, str]
) -> tuple[int, Any, str]:
    directory = cache_directory(environment)
    data = {
        "packages": {name: _package_version(name) for name in _PACKAGES},
        "python": platform.python_version(),
        "host": {
            "system": f"{platform.system()} {platform.release()} {platform.machine()}",
            "cpu": _cpu_name(),
            "cpus": len(os.sched_getaffinity(0)),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        },
        "toolchain": _toolchain(environment),
        "cache": {
            "directory": str(directory),
            "bytes": sum(entry.bytes for entry in stored_entries(directory)),
            "statistics": Statistics(directory).read(),
        },
        "environment": {
            k: v for k, v in sorted(environment.items()) if _VARIABLES.match(k)
        },
    }
    return 0, data, "\n".join(_lines(data))


def _toolchain(environment: Mapping[str, str]) -> dict[str, Any]:
    cxx = environment.get("SPYRE_BUILD_CXX") or environment.get("CXX") or "g++"
    isa = environment.get("SPYRE_CODEGEN_ISA", "native")
    try:
        found = detect_toolchain(cxx, isa, ())
    except SpyreError as error:
        return {"error": str(error)}
    return {
        "compiler": " ".join(found.command),
        "version": found.version,
        "isa": found.isa,
    }


def _package_version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _cpu_name() -> str:
    try:
        found = re.search(
            r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M
        )
    except OSError:
        found = None
    return found.group(1) if found else platform.processor() or "unknown"


def _lines(data: Mapping[str, Any]) -> list[str]:
    """`section.name  value`, one per line, nested names joined with dots."""
    lines = []
    for name, value in data.items():
        if isinstance(value, Mapping):
            lines += [f"{name}.{line}" for line in _lines(value)]
        else:
            lines.append(f"{name}  {value}")
    return lines
