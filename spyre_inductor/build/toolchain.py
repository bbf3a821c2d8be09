"""Finds the host compiler and says how it is called. Gives a frozen Toolchain.

One run of the compiler answers everything: its version, and through the predefined macros of
-march=native what this host can execute. No probe program is compiled.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from spyre_inductor.errors import CompileError, UnsupportedError

# Requested instruction set -> flags. "native" is resolved to one of the others in Toolchain.isa.
ISA_FLAGS = {
    "native": ("-march=native",),
    "avx512": ("-march=x86-64-v4", "-mtune=native"),
    "avx2": ("-march=x86-64-v3", "-mtune=native"),
    "scalar": (),
}
_ISA_MACROS = {
    "avx512": ("AVX512F", "AVX512BW", "AVX512DQ", "AVX512VL"),
    "avx2": ("AVX2", "FMA", "F16C"),
    "scalar": (),
}

# Never -ffast-math: with GCC before 13 it links crtfastmath.o, which flushes denormals to zero in
# the whole process. -O3 costs what -O2 costs here and unrolls accumulator loops.
_COMPILE_FLAGS = (
    "-std=c++20",
    "-O3",
    "-fwrapv",  # integers wrap at their own width
    "-Wno-psabi",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-asynchronous-unwind-tables",
    "-fvisibility=hidden",
    "-fPIC",
    "-shared",
    "-pipe",  # the assembler starts with the compiler
)
# No start files and no libstdc++ (halves the link time); a missing symbol fails here, not at load.
_LINK_FLAGS = (
    "-nostdlib",
    "-Wl,--no-undefined",
    "-Wl,--as-needed",
    "-lm",
    "-lc",
    "-lgcc",
)

_PROBE_TIMEOUT_SECONDS = 60

LIBRARY_HEADER = "spyre_kernels/special.h"

# Headers of functions that are called, not inlined.
_CALLING_HEADERS = (LIBRARY_HEADER, "spyre_kernels/libm.h", "spyre_kernels/libmvec.h")

# Undefined, a source is compiled whole; n, its n-th part alone.
UNIT_MACRO = "SPYRE_UNIT"
_UNIT_MARK = re.compile(rf"^#if .*\b{UNIT_MACRO} == (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Library:
    """PyTorch's C++ headers: where they are, and the version that enters the cache key."""

    include_dir: str
    version: str


@dataclass(frozen=True)
class Toolchain:
    """A compiler and everything about its use that decides what a binary contains."""

    command: tuple[
        str, ...
    ]  # absolute compiler path, then any words the user put after it
    version: str  # "gcc version 12.2.0 (Debian 12.2.0-14+deb12u1)"
    isa: str  # "avx512", "avx2" or "scalar": what rendered kernels may use
    host_digest: (
        str  # of the predefined macros: differs where -march=native means another CPU
    )
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    include_dirs: tuple[str, ...]
    library: Library | None = None

    def compile_command(
        self, source: str, output: str, *, with_library: bool = False
    ) -> tuple[str, ...]:
        """The one command that turns file `source` into the shared object `output`.

        `with_library` is uses_library() of the source's text.

        Raises:
            CompileError: the source needs the library and the toolchain has none.
        """
        includes = self._include_flags(source, with_library)
        link_flags = self._link_flags(with_library)
        return (
            *self.command, *self.compile_flags, *includes, source, "-o", output, *link_flags
        )  # fmt: skip

    def unit_command(
        self, source: str, unit: int, *, with_library: bool = False
    ) -> tuple[str, ...]:
        """Turns one unit of `source` into the object file `unit_file(unit)`.

        Raises:
            CompileError: the source needs the library and the toolchain has none.
        """
        includes = self._include_flags(source, with_library)
        return (
            *self.command, *self.compile_flags, *includes,
            "-c", f"-D{UNIT_MACRO}={unit}", source, "-o", unit_file(unit),
        )  # fmt: skip

    def link_command(
        self,
        units: int,
        output: str,
        *,
        with_library: bool = False,
        alone: bool = False,
    ) -> tuple[str, ...]:
        """Makes the shared object `output` of the object files of `units` units.

        `alone` without any library, which takes half the time and fails when something is missing.
        """
        objects = map(unit_file, range(1, units + 1))
        link_flags = self._link_flags(with_library)
        if alone:
            link_flags = tuple(f for f in link_flags if not f.startswith("-l"))
        return (
            *self.command, *self.compile_flags, *objects, "-o", output, *link_flags
        )  # fmt: skip

    def _include_flags(self, source: str, with_library: bool) -> tuple[str, ...]:
        includes = tuple(f"-I{directory}" for directory in self.include_dirs)
        if not with_library:
            return includes
        if self.library is None:
            message = f"{source} needs PyTorch's headers; give the toolchain a library"
            raise CompileError(message, shlex.join(self.command), source, "")
        return (*includes, "-isystem", self.library.include_dir)

    def _link_flags(self, with_library: bool) -> tuple[str, ...]:
        if not with_library:
            return self.link_flags
        kept = (flag for flag in self.link_flags if flag != "-nostdlib")
        return (*kept, "-lstdc++")


def unit_file(unit: int) -> str:
    """Name of the object file of a unit; units count from 1."""
    return f"unit{unit}.o"


def uses_library(source: str) -> bool:
    """True when the rendered text includes the one header that is built on PyTorch's."""
    return LIBRARY_HEADER in source


def may_stand_alone(source: str) -> bool:
    """False when the rendered text surely calls functions of other libraries."""
    return not any(header in source for header in _CALLING_HEADERS)


def unit_count(source: str) -> int:
    """Into how many units the rendered text can be divided (the module template's marks)."""
    return max(map(int, _UNIT_MARK.findall(source)), default=1)


def detect_toolchain(
    cxx: str,
    isa: str,
    include_dirs: Iterable[str | Path],
    fp_contract: str = "off",
    library: Library | None = None,
) -> Toolchain:
    """The toolchain for compiler `cxx` and instruction set `isa`.

    Args:
        cxx: A name on PATH or a path, optionally followed by arguments ("ccache g++").
        isa: A key of ISA_FLAGS.
        include_dirs: Directories of the kernel headers; their text enters each cache key.
        fp_contract: "fast" lets a*b+c become one fused operation, "off" rounds twice as CPU eager
            does (the kernel library asks for fused operations where it wants them).
        library: PyTorch's headers, for the special functions; only kernels that use one need it.

    Raises:
        CompileError: there is no such compiler, or it does not run.
        UnsupportedError: this host cannot execute `isa`.
    """
    if isa not in ISA_FLAGS:
        known = ", ".join(ISA_FLAGS)
        raise UnsupportedError(f"instruction set {isa!r}", f"choose one of {known}")
    command = _locate(cxx)
    file = Path(command[0]).stat()
    return _toolchain(
        command,
        (file.st_mtime_ns, file.st_size),
        isa,
        tuple(str(Path(directory).resolve()) for directory in include_dirs),
        fp_contract,
        library,
    )


@functools.lru_cache(maxsize=32)
def _toolchain(
    command: tuple[str, ...],
    stamp: tuple[int, int],
    isa: str,
    include_dirs: tuple[str, ...],
    fp_contract: str,
    library: Library | None,
) -> Toolchain:
    version, macros = _probe(command, stamp)
    available = [
        name for name, needed in _ISA_MACROS.items() if set(needed) <= macros.keys()
    ]
    if isa == "native":
        resolved = available[0]
    elif isa in available:
        resolved = isa
    else:
        why = f"this host has {available[0]}; set SPYRE_CODEGEN_ISA to it or to native"
        raise UnsupportedError(f"instruction set {isa!r}", why)
    digest = hashlib.sha256(repr(sorted(macros.items())).encode()).hexdigest()
    return Toolchain(
        command=command,
        version=version,
        isa=resolved,
        host_digest=digest,
        compile_flags=(
            *_COMPILE_FLAGS,
            f"-ffp-contract={fp_contract}",
            *_glibc_flags(),
            *ISA_FLAGS[isa],
        ),
        link_flags=_LINK_FLAGS,
        include_dirs=include_dirs,
        library=library,
    )


def _glibc_flags() -> tuple[str, ...]:
    """Tells kernels which glibc 2.x they run on: its vector functions differ by version."""
    try:
        found = re.match(r"glibc 2\.(\d+)", os.confstr("CS_GNU_LIBC_VERSION") or "")
    except (AttributeError, ValueError):  # no glibc
        return ()
    return (f"-DSPYRE_GLIBC_MINOR={found[1]}",) if found else ()


def _locate(cxx: str) -> tuple[str, ...]:
    words = shlex.split(cxx)
    found = shutil.which(words[0]) if words else None
    if found is None:
        message = (
            f"no C++ compiler: {cxx!r} is not an executable on PATH; install g++ 11 or newer, "
            "or name a compiler in SPYRE_BUILD_CXX"
        )
        raise CompileError(message, command=cxx, source_path="", output="")
    return (str(Path(found).absolute()), *words[1:])


@functools.lru_cache(maxsize=8)
def _probe(
    command: tuple[str, ...], stamp: tuple[int, int]
) -> tuple[str, dict[str, str]]:
    """Version line and predefined macros (without their underscores) of `command`.

    `stamp` is the file's change time and size, so that an upgraded compiler is asked again.
    """
    probe = (*command, "-v", "-dM", "-E", "-march=native", "-x", "c++", "/dev/null")
    try:
        done = subprocess.run(
            probe,
            capture_output=True,
            text=True,
            timeout=_PROBE_TIMEOUT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        output = str(getattr(error, "stderr", None) or error)
        message = f"the C++ compiler {command[0]} does not run; name another in SPYRE_BUILD_CXX"
        raise CompileError(message, shlex.join(probe), "", output) from error
    macros = dict(
        re.findall(r"^#define __(\w+?)(?:__)? (.*)$", done.stdout, re.MULTILINE)
    )
    line = re.search(r"^.*\b(?:gcc|clang) version .*$", done.stderr, re.MULTILINE)
    version = (
        line.group().strip() if line else macros.get("VERSION", "unknown").strip('"')
    )
    return version, macros
