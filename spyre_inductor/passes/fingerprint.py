"""One hash over everything that decides what this backend generates.

Inductor's graph caches know nothing of an out-of-tree backend; this hash is how a changed template,
header, pass or compiler makes them miss.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import codegen_templates
import torch_spyre

from ..errors import SpyreError
from ..launch.async_compile import current_toolchain

_SUFFIXES = frozenset((".py", ".jinja", ".h"))


def code_fingerprint() -> str:
    """Hex digest of the compiler's sources, templates, kernel headers, flags, compiler and ISA."""
    try:
        toolchain = repr(current_toolchain())
    except SpyreError as error:
        # A graph without spyre work must still compile on a host without a compiler.
        toolchain = f"none: {error}"
    return hashlib.sha256(f"{_own_sources()} {toolchain}".encode()).hexdigest()


@functools.cache
def _own_sources() -> str:
    """Digest of the files as they are when this process first asks."""
    return sources_digest(
        Path(__file__).parents[1],
        Path(codegen_templates.__file__).parent,
        Path(torch_spyre.__file__).parent / "include",
    )


def sources_digest(*folders: Path) -> str:
    """Hex digest of names and text of every .py, .jinja and .h file below the folders."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix in _SUFFIXES:
                digest.update(f"{path.relative_to(folder)}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()
