"""Bounds the cache by size: the least recently used go first, entries and refused sources alike.

An entry's directory time is its last use. Removal renames before it deletes, so a reader sees an
entry whole or not at all; one used within GRACE_SECONDS stays, because a process that has just
verified it may still be about to load it.
"""

from __future__ import annotations

import shutil
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

GRACE_SECONDS = 30.0
# A staging directory this old was left by a killed process.
_ABANDONED_SECONDS = 3600.0


@dataclass(frozen=True)
class StoredEntry:
    """What the directory listing alone says about an entry, or about a source that was refused."""

    key: str
    bytes: int
    last_used: float  # seconds since the epoch


def stored_entries(directory: Path, kind: str = "entries") -> list[StoredEntry]:
    """All entries below cache `directory`, least recently used first; `kind` may be "failed"."""
    found = []
    entries = directory / kind
    for path in entries.iterdir() if entries.is_dir() else ():
        try:
            size = sum(file.stat().st_size for file in path.iterdir())
            found.append(StoredEntry(path.name, size, path.stat().st_mtime))
        except (FileNotFoundError, NotADirectoryError):
            continue  # evicted by another process while we looked
    return sorted(found, key=lambda entry: (entry.last_used, entry.key))


def evict(
    directory: Path,
    max_bytes: int,
    keep: str | None = None,
    grace_seconds: float = GRACE_SECONDS,
) -> list[str]:
    """Removes old entries and refused sources until the rest fits in `max_bytes`; returns the keys
    of the entries removed."""
    _sweep(directory / "staging", _ABANDONED_SECONDS)
    stored = [
        (entry.last_used, entry.key, kind, entry.bytes)
        for kind in ("entries", "failed")
        for entry in stored_entries(directory, kind)
    ]
    total = sum(size for *_, size in stored)
    newest = time.time() - grace_seconds
    removed = []
    for last_used, key, kind, size in sorted(stored):
        if total <= max_bytes:
            break
        if key != keep and last_used <= newest:
            remove(directory, key, kind)
            total -= size
            if kind == "entries":
                removed.append(key)
    return removed


def remove(directory: Path, key: str, kind: str = "entries") -> None:
    """Removes one entry or refused source; no error when another process was faster."""
    aside = directory / "staging" / f"evicted.{uuid.uuid4().hex}"
    try:
        (directory / kind / key).rename(aside)
    except FileNotFoundError:
        return
    shutil.rmtree(aside, ignore_errors=True)


def _sweep(staging: Path, age_seconds: float) -> None:
    for path in staging.iterdir() if staging.is_dir() else ():
        try:
            if path.stat().st_mtime < time.time() - age_seconds:
                shutil.rmtree(path, ignore_errors=True)
        except FileNotFoundError:
            continue
