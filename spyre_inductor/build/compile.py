"""Kernel source in, verified cache entry out: look, lock, look again, compile, publish.

A long source says how it can be divided; its units then compile side by side.

The compiler runs inside the entry's staging directory with relative names, so that the command in
build.json and in an error message can be repeated as it stands.
"""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn, TypeVar

from filelock import Timeout

from spyre_inductor.errors import CacheError, CompileError
from spyre_inductor.logs import artifact_name

from .ahead import UnitAhead, UnitsAhead
from .cache_key import abi_version, cache_key
from .entry import MODULE_FILE, PLAN_FILE, SOURCE_FILE, CacheEntry, write_build_record
from .kernel_cache import KernelCache
from .toolchain import Toolchain, may_stand_alone, unit_count, unit_file, uses_library

log = logging.getLogger(__name__)
events = logging.getLogger(artifact_name("spyre_inductor.build", "spyre_cache"))

T = TypeVar("T")
# Gives control back where it would wait; the value is the result.
Steps = Generator[None, None, T]

_COMPILE_TIMEOUT_SECONDS = 600
_DISK_FULL = ("No space left on device", "Disk quota exceeded")


def build_module(
    source: str, plans_json: str, toolchain: Toolchain, cache: KernelCache
) -> CacheEntry:
    """The built module for `source`, from the cache or compiled now (see `build_steps`)."""
    steps = build_steps(source, plans_json, toolchain, cache)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            entry: CacheEntry = done.value
            return entry


def build_steps(
    source: str,
    plans_json: str,
    toolchain: Toolchain,
    cache: KernelCache,
    ahead: UnitsAhead | None = None,
) -> Steps[CacheEntry]:
    """A build that stops where waiting begins: for the compiler, or for another builder's lock.

    What comes before takes 3 ms alone, but fifty in a thread beside busy Python: each of its small
    reads gives the interpreter away. So callers run it themselves, and the rest in a thread.

    Args:
        source: C++ of one or more kernels, as rendered.
        plans_json: The plans it was rendered from; stored beside the binary.
        ahead: Compilers that have some of the source already; discarded when nobody needs them.

    Raises:
        CompileError: the compiler refused the source; holds command, path and output.
        CacheError: neither the cache nor the temporary directory takes an entry.
    """
    with ExitStack() as stack:
        if ahead is not None:
            stack.callback(ahead.discard)
        return (yield from _build(source, plans_json, toolchain, cache, ahead))


def _build(
    source: str,
    plans_json: str,
    toolchain: Toolchain,
    cache: KernelCache,
    ahead: UnitsAhead | None,
) -> Steps[CacheEntry]:
    key = cache_key(source, plans_json, toolchain)
    entry = cache.lookup(key)
    if entry is not None:
        cache.statistics.count("hits")
        events.debug("hit %s", key)
        return entry
    cache.statistics.count("misses")
    events.debug("miss %s", key)
    try:
        return (
            yield from _build_locked(key, source, plans_json, toolchain, cache, ahead)
        )
    except OSError as error:
        # Read-only, full or vanished directory, or a lock that never came free.
        spare = cache.spare()
        log.warning(
            "kernel cache %s cannot take an entry (%s); it goes to %s for this process",
            cache.directory, error, spare.directory,
        )  # fmt: skip
    try:
        entry = spare.lookup(key)
        if entry is None:
            steps = _build_locked(key, source, plans_json, toolchain, spare, ahead)
            entry = yield from steps
        return entry
    except OSError as error:
        raise CacheError(
            f"no place for a compiled kernel: neither {cache.directory} nor "
            f"{spare.directory} can be written ({error}); set SPYRE_CACHE_DIR"
        ) from error


def _build_locked(
    key: str,
    source: str,
    plans_json: str,
    toolchain: Toolchain,
    cache: KernelCache,
    ahead: UnitsAhead | None,
) -> Steps[CacheEntry]:
    lock = cache.lock(key)
    try:
        lock.acquire(blocking=False)
    except Timeout:  # somebody builds this key, or one that begins like it
        yield
        lock.acquire()
    with ExitStack() as stack:
        stack.callback(lock.release)
        entry = cache.lookup(key)
        if entry is not None:  # another process built it while we waited
            return entry
        staged = stack.enter_context(cache.staging(key))
        (staged / SOURCE_FILE).write_text(source)
        (staged / PLAN_FILE).write_text(plans_json)
        start = time.perf_counter()
        command = yield from _compile(staged, key, source, toolchain, cache, ahead)
        milliseconds = round((time.perf_counter() - start) * 1e3, 1)
        facts = {
            "abi_version": abi_version(toolchain),
            "command": command,
            "compiler": toolchain.version,
            "compile_ms": milliseconds,
            "isa": toolchain.isa,
        }
        write_build_record(staged, key, facts)
        events.debug("built %s in %s ms", key, milliseconds)
        return cache.publish(staged, key)


def _compile(
    staged: Path,
    key: str,
    source: str,
    toolchain: Toolchain,
    cache: KernelCache,
    ahead: UnitsAhead | None,
) -> Steps[str]:
    """Makes MODULE_FILE of the source in `staged`; returns the shell command that does the same."""
    library = uses_library(source)
    units = unit_count(source)
    begun = {}
    if ahead is not None and not library:
        begun = ahead.claim(source, toolchain)
    whole = toolchain.compile_command(SOURCE_FILE, MODULE_FILE, with_library=library)
    if not begun and (units == 1 or units > (os.cpu_count() or 1)):
        yield from _run_side_by_side(staged, key, (whole,), cache)
        return shlex.join(whole)
    compiles = [
        toolchain.unit_command(SOURCE_FILE, unit, with_library=library)
        for unit in range(1, units + 1)
    ]
    link = toolchain.link_command(units, MODULE_FILE, with_library=library)
    missing = [c for unit, c in enumerate(compiles, 1) if unit not in begun]
    try:
        yield from _run_side_by_side(staged, key, missing, cache)
        # One that failed fails again here, with the source that the user can look at.
        failed = [
            compiles[number - 1]
            for number, unit in begun.items()
            if not _taken_over(unit, staged)
        ]
    finally:
        for unit in begun.values():
            unit.discard()
    if failed:
        yield from _run_side_by_side(staged, key, failed, cache)
    alone = toolchain.link_command(units, MODULE_FILE, alone=True)
    if may_stand_alone(source) and _succeeds(alone, staged):
        link = alone
    else:
        yield from _run_side_by_side(staged, key, (link,), cache)
    for path in staged.glob("unit*.o"):
        path.unlink()
    if units == 1:
        return shlex.join(whole)
    return " && ".join(map(shlex.join, (*compiles, link)))


def _succeeds(command: tuple[str, ...], staged: Path) -> bool:
    try:
        done = subprocess.run(
            command,
            cwd=staged,
            capture_output=True,
            timeout=_COMPILE_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _taken_over(unit: UnitAhead, staged: Path) -> bool:
    """Waits for a compiler that started ahead; False when it made no object file."""
    try:
        # Unlike wait(), it does not sleep between looks.
        unit.process.communicate(timeout=_COMPILE_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    if unit.process.returncode != 0:
        return False
    name = unit_file(unit.number)
    shutil.move(unit.directory / name, staged / name)
    return True


def _run_side_by_side(
    staged: Path, key: str, commands: Sequence[tuple[str, ...]], cache: KernelCache
) -> Steps[None]:
    """Raises CompileError for the first that fails, OSError when the disk is full."""
    running: list[subprocess.Popen[str]] = []
    try:
        for command in commands:
            running.append(
                subprocess.Popen(
                    command,
                    cwd=staged,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        yield
        for command, process in zip(commands, running, strict=True):
            output, complaint = process.communicate(timeout=_COMPILE_TIMEOUT_SECONDS)
            if process.returncode != 0:
                _refused(
                    staged, key, command, process.returncode, output, complaint, cache
                )
    except subprocess.TimeoutExpired:
        message = f"the compiler did not finish in {_COMPILE_TIMEOUT_SECONDS} s"
        kept = cache.keep_failed(staged, key)
        raise CompileError(
            message, _shown(command, kept), str(kept / SOURCE_FILE), ""
        ) from None
    finally:
        for process in running:
            if process.returncode is None:
                process.kill()
                process.communicate()


def _refused(
    staged: Path, key: str, command: tuple[str, ...], code: int, output: str, complaint: str,
    cache: KernelCache,
) -> NoReturn:  # fmt: skip
    for line in complaint.splitlines():
        if any(text in line for text in _DISK_FULL):
            raise OSError(line.strip())
    message = f"the compiler refused a rendered kernel (exit code {code})"
    kept = cache.keep_failed(staged, key)
    raise CompileError(
        message, _shown(command, kept), str(kept / SOURCE_FILE), output + complaint
    )


def _shown(command: tuple[str, ...], directory: Path) -> str:
    return f"cd {shlex.quote(str(directory))} && {shlex.join(command)}"
