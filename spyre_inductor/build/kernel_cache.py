"""The kernel cache: built modules in a private directory, by content key.

    <directory>/entries/<key>/   the four files of build/entry.py
    <directory>/staging/         entries being written; a rename publishes one
    <directory>/failed/<key>/    sources that the compiler refused, kept for the error message
    <directory>/locks/<xx>.lock  one file lock per first key byte: one builder per key

Invariants: an entry appears whole or not at all; what `lookup` returns has been verified; a damaged
entry is a miss. Any number of processes and threads may use one directory.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import stat
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from spyre_inductor.errors import CacheError
from spyre_inductor.logs import artifact_name

from .entry import CacheEntry, fsync, read_entry
from .eviction import evict
from .statistics import Statistics

log = logging.getLogger(__name__)
events = logging.getLogger(artifact_name("spyre_inductor.build", "spyre_cache"))

_LOCK_TIMEOUT_SECONDS = 600
# Looking at every entry costs microseconds each, so not every build pays for it.
_BUILDS_PER_EVICTION = 16


class KernelCache:
    """Finds, stages and publishes entries below `directory`.

    Args:
        directory: Created with mode 0700 when missing.
        max_bytes: Least recently used entries are removed above this.

    Raises:
        CacheError: the directory belongs to another user, others may write to it, or it is a file.
        OSError: it cannot be created or written.
    """

    def __init__(self, directory: str | Path, max_bytes: int) -> None:
        self.directory = Path(directory).absolute()
        self.max_bytes = max_bytes
        _make_private(self.directory)
        for name in ("entries", "staging", "failed", "locks"):
            (self.directory / name).mkdir(mode=0o700, exist_ok=True)
        self.statistics = Statistics(self.directory)
        self._spare: KernelCache | None = None
        self._spare_lock = threading.Lock()

    def spare(self) -> KernelCache:
        """The temporary cache that stands in while this directory cannot be written."""
        with self._spare_lock:
            if self._spare is None:
                self._spare = temporary_cache(self.max_bytes)
            return self._spare

    def entry_directory(self, key: str) -> Path:
        return self.directory / "entries" / key

    def lookup(self, key: str) -> CacheEntry | None:
        """The verified entry for `key`, marked as just used, or None."""
        directory = self.entry_directory(key)
        try:
            entry = read_entry(directory, key)
        except FileNotFoundError:
            return None
        except CacheError as error:
            log.warning(
                "kernel cache entry %s is damaged and is rebuilt: %s", directory, error
            )
            self.statistics.count("damaged")
            return None
        try:
            os.utime(directory)
        except OSError as error:
            events.debug("use of %s not recorded: %s", key, error)
        return entry

    def lock(self, key: str) -> FileLock:
        """One builder per key: not acquired yet, and any thread may release it.

        Raises (when acquired): OSError, the directory cannot be written; Timeout, which is one.
        """
        return FileLock(
            self.directory / "locks" / f"{key[:2]}.lock",
            timeout=_LOCK_TIMEOUT_SECONDS,
            thread_local=False,
        )

    @contextmanager
    def staging(self, key: str) -> Iterator[Path]:
        """An empty directory for the entry of `key`, whose lock is held; removed at the end.

        Raises:
            OSError: the directory cannot be written.
        """
        staged = self.directory / "staging" / f"{key}.{uuid.uuid4().hex}"
        staged.mkdir(mode=0o700)
        try:
            yield staged
        finally:
            shutil.rmtree(staged, ignore_errors=True)

    def publish(self, staged: Path, key: str) -> CacheEntry:
        """Moves a complete staging directory into place and returns it, verified."""
        final = self.entry_directory(key)
        if final.exists():
            # Only a damaged entry can be here, since the caller holds the lock and has looked.
            final.rename(self.directory / "staging" / f"damaged.{uuid.uuid4().hex}")
        staged.rename(final)
        fsync(final.parent)
        entry = read_entry(final, key)
        if self.statistics.here["compiles"] % _BUILDS_PER_EVICTION == 0:
            self.evict(keep=key)
        self.statistics.count("compiles")
        return CacheEntry(key, final, False, entry.build)

    def evict(self, keep: str | None = None) -> list[str]:
        """Removes entries, least recently used first, until max_bytes holds; returns their keys."""
        removed = evict(self.directory, self.max_bytes, keep=keep)
        if removed:
            self.statistics.count("evicted", len(removed))
            events.debug("evicted %s", ", ".join(removed))
        return removed

    def keep_failed(self, staged: Path, key: str) -> Path:
        """Moves what the compiler refused to a place where the user can look at it."""
        kept = self.directory / "failed" / key
        shutil.rmtree(kept, ignore_errors=True)
        staged.rename(kept)
        self.evict(keep=key)
        return kept


def _make_private(directory: Path) -> None:
    """Creates `directory` for this user alone, or checks that nobody else can plant code in it."""
    if directory.exists() and not directory.is_dir():
        raise CacheError(
            f"kernel cache {directory} is not a directory; set SPYRE_CACHE_DIR"
        )
    directory.parent.mkdir(parents=True, exist_ok=True)
    directory.mkdir(mode=0o700, exist_ok=True)
    found = directory.stat()
    if found.st_uid != os.geteuid():
        raise CacheError(
            f"kernel cache {directory} belongs to user {found.st_uid}, this process runs as "
            f"{os.geteuid()}; code from it would run here. Set SPYRE_CACHE_DIR to an own directory"
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CacheError(
            f"other users may write to the kernel cache {directory} (mode "
            f"{stat.S_IMODE(found.st_mode):04o}); run: chmod 700 {directory}"
        )


def open_cache(directory: str | Path, max_bytes: int) -> KernelCache:
    """The cache in `directory`, or a private temporary one with a warning when that fails.

    Raises:
        CacheError: the directory is not safe to use (see KernelCache).
    """
    try:
        return KernelCache(directory, max_bytes)
    except OSError as error:
        log.warning(
            "kernel cache %s cannot be used (%s); kernels of this process go to a temporary "
            "directory. Set SPYRE_CACHE_DIR to a writable one", directory, error
        )  # fmt: skip
        return temporary_cache(max_bytes)


def temporary_cache(max_bytes: int) -> KernelCache:
    """A cache in a new directory that disappears with this process."""
    directory = tempfile.mkdtemp(prefix="spyre-kernels-")
    atexit.register(_remove_in_process, directory, os.getpid())
    return KernelCache(directory, max_bytes)


def _remove_in_process(directory: str, pid: int) -> None:
    # A forked child inherits the exit handler, but not the directory.
    if os.getpid() == pid:
        shutil.rmtree(directory, ignore_errors=True)
