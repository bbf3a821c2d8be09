"""Compilers that start before their source is complete.

Reading the headers takes a compiler a third of its time, and a graph's kernels are known one by
one while it is still being lowered. So a compiler starts before scheduling and finds a pipe where
the source file will be; `give` writes the text so far into it and puts the file in its place.
A build takes over what it can use (`UnitsAhead.claim`) and compiles the rest as if there were no
such thing; whatever goes wrong here costs time only.
"""

from __future__ import annotations

import fcntl
import io
import os
import shutil
import signal
import subprocess
import uuid
import weakref
from contextlib import ExitStack, suppress
from pathlib import Path

from .cache_key import header_stamps
from .entry import SOURCE_FILE
from .kernel_cache import KernelCache
from .toolchain import Toolchain, unit_count

# What every kernel includes; others would cost those that do not need them more than they save.
# The source includes it again, to no effect.
_PRELUDE = f"""#include "spyre/kernel_abi.h"
#include "spyre_kernels/kernel.h"
#include "{SOURCE_FILE}"
"""
_PRELUDE_FILE = "prelude.cpp"

_waiting: weakref.WeakSet[UnitAhead] = weakref.WeakSet()


class UnitAhead:
    """One unit's compiler in a directory of its own; ended with this object if not before.

    The pipe holds all of the text before the compiler reads it, so that nothing ever blocks, and
    a compiler that opens the file later (or twice, as ccache does) finds a regular one.

    Raises:
        OSError: the directory cannot be made, holds no pipe, or the compiler does not start.
    """

    def __init__(self, number: int, directory: Path, toolchain: Toolchain) -> None:
        self.number = number
        self.directory = directory
        self.text = ""
        directory.mkdir(mode=0o700)
        with ExitStack() as undo:
            undo.callback(shutil.rmtree, directory, ignore_errors=True)
            (directory / _PRELUDE_FILE).write_text(_PRELUDE)
            os.mkfifo(directory / SOURCE_FILE, 0o600)
            # Both its ends: opening does not wait for a reader, nor does the reader find its end.
            self._pipe = open(directory / SOURCE_FILE, "r+b", 0, opener=_without_wait)  # noqa: SIM115
            undo.callback(self._pipe.close)
            self.process = subprocess.Popen(
                toolchain.unit_command(_PRELUDE_FILE, number),
                cwd=directory,
                stdout=subprocess.PIPE,  # its end tells that of the process
                stderr=subprocess.STDOUT,
                start_new_session=True,  # the driver's children end with it
            )
            undo.pop_all()
        self.discard = weakref.finalize(
            self, _end, self.process, self._pipe, self.directory
        )
        _waiting.add(self)

    def give(self, text: str) -> bool:
        """Completes the source. False: it does not fit a pipe, and the compiler is ended."""
        data = text.encode()
        descriptor = self._pipe.fileno()
        try:
            if len(data) > fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ):
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, len(data))
            if os.write(descriptor, data) == len(data):
                regular = self.directory / "complete"
                regular.write_bytes(data)
                regular.rename(self.directory / SOURCE_FILE)
                self.text = text
        except OSError:
            self.text = ""
        self.close()
        if not self.text:
            self.discard()
        return bool(self.text)

    def close(self) -> None:
        """Ends the text: the compiler finds no end while any process holds the pipe open."""
        self._pipe.close()

    def is_running(self) -> bool:
        return self.process.poll() is None


def _without_wait(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _end(process: subprocess.Popen[bytes], pipe: io.RawIOBase, directory: Path) -> None:
    pipe.close()
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    shutil.rmtree(directory, ignore_errors=True)


def _close_in_child() -> None:
    for unit in list(_waiting):
        unit.discard.detach()  # the parent's to end
        unit.close()


os.register_at_fork(after_in_child=_close_in_child)


class UnitsAhead:
    """The compilers of one graph: at most one that waits for text, before it those that got some.

    Args:
        toolchain, cache: As config names them when the graph's lowering begins.
    """

    def __init__(self, toolchain: Toolchain, cache: KernelCache) -> None:
        self._toolchain = toolchain
        self._headers = header_stamps(toolchain)
        self._directory = cache.directory / "staging"
        self._given: list[UnitAhead] = []
        self._waiting: UnitAhead | None = None
        self._start_next()

    def _start_next(self) -> None:
        directory = self._directory / f"ahead.{uuid.uuid4().hex}"
        number = len(self._given) + 1
        with suppress(OSError):
            self._waiting = UnitAhead(number, directory, self._toolchain)

    def is_free(self) -> bool:
        """Whether a unit can be given without more than one compiler at work."""
        return self._waiting is not None and not any(
            u.is_running() for u in self._given
        )

    def give(self, text: str) -> None:
        """Lets the waiting compiler go on with the file's text up to the end of its unit."""
        if self._give(text):
            self._start_next()

    def give_last(self, source: str) -> None:
        """The same with the complete file."""
        if len(self._given) < unit_count(source):
            self._give(source)

    def _give(self, text: str) -> bool:
        unit, self._waiting = self._waiting, None
        if unit is None or not unit.give(text):
            return False
        self._given.append(unit)
        return True

    def claim(self, source: str, toolchain: Toolchain) -> dict[int, UnitAhead]:
        """The units of `source` that are being compiled, by number; the caller owns them.

        Only those whose text is the beginning of `source`, with the toolchain and headers of now.
        """
        given, self._given = self._given, []
        self.discard()
        same = toolchain == self._toolchain
        same = same and header_stamps(toolchain) == self._headers
        claimed = {}
        for unit in given:
            if same and source.startswith(unit.text):
                claimed[unit.number] = unit
            else:
                unit.discard()
        return claimed

    def discard(self) -> None:
        """Ends what has not been claimed."""
        waiting, self._waiting = self._waiting, None
        for unit in (waiting, *self._given):
            if unit is not None:
                unit.discard()
        self._given = []
