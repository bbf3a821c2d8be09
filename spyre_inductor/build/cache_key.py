"""The content hash that names a cache entry: everything that decides what a binary does."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from spyre_inductor.errors import CompileError
from spyre_inductor.plan.kernel_plan import PLAN_VERSION

from .toolchain import Toolchain

# Raise it when the layout of an entry changes.
ENTRY_FORMAT = 1

_ABI_LINE = re.compile(r"^#define SPYRE_KERNEL_ABI_VERSION (\d+)$", re.MULTILINE)


def cache_key(source: str, plans_json: str, toolchain: Toolchain) -> str:
    """64 hex digits. The headers are read each time: a changed one must never serve an old kernel.

    The plans count too, because the entry holds them and the launcher trusts what it reads there.
    """
    parts = (
        str(ENTRY_FORMAT),
        str(PLAN_VERSION),
        source,
        plans_json,
        *toolchain.command,
        toolchain.version,
        toolchain.isa,
        toolchain.host_digest,
        *toolchain.compile_flags,
        *toolchain.link_flags,
        toolchain.library.version if toolchain.library else "",
        *_headers(toolchain.include_dirs),
    )
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        # A length before each part: "ab","c" and "a","bc" must differ.
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def header_stamps(toolchain: Toolchain) -> dict[str, tuple[int, int, int]]:
    """What tells whether a header has been written meanwhile: change time, size and file number."""
    return {
        str(path): (found.st_mtime_ns, found.st_size, found.st_ino)
        for path in _header_paths(toolchain.include_dirs)
        for found in (path.stat(),)
    }


def abi_version(toolchain: Toolchain) -> int:
    """SPYRE_KERNEL_ABI_VERSION as the kernel headers of `toolchain` declare it.

    Raises:
        CompileError: no include directory holds spyre/kernel_abi.h.
    """
    for directory in toolchain.include_dirs:
        path = Path(directory) / "spyre" / "kernel_abi.h"
        if path.is_file() and (line := _ABI_LINE.search(path.read_text())):
            return int(line.group(1))
    message = f"no spyre/kernel_abi.h in {', '.join(toolchain.include_dirs)}; reinstall torch_spyre"
    raise CompileError(message, command="", source_path="", output="")


def _headers(include_dirs: Iterable[str]) -> list[str]:
    """Relative name and text of every header, in a fixed order."""
    parts = []
    for directory in include_dirs:
        for path in _header_paths((directory,)):
            parts += [path.relative_to(directory).as_posix(), path.read_text()]
    return parts


def _header_paths(include_dirs: Iterable[str]) -> list[Path]:
    return [
        path
        for directory in include_dirs
        for path in sorted(Path(directory).rglob("*.h"))
    ]
