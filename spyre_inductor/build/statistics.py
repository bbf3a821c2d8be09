"""Counters of a cache directory, shared by all processes that use it.

Takes the cache directory, gives counts since it was created. Counting never fails a compile: where
the directory cannot be written, the counts of this process alone are kept.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

from filelock import FileLock, Timeout

EVENTS = ("hits", "misses", "compiles", "damaged", "evicted")
_LOCK_TIMEOUT_SECONDS = 5


class Statistics:
    """`here` counts this process's events, `read` those of every process."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "statistics.json"
        self._lock_path = directory / "statistics.lock"
        self.here: Counter[str] = Counter()

    def count(self, event: str, amount: int = 1) -> None:
        """Adds `amount` to `event`, one of EVENTS."""
        if event not in EVENTS:
            raise ValueError(
                f"unknown cache event {event!r}; one of {', '.join(EVENTS)}"
            )
        self.here[event] += amount
        try:
            with FileLock(self._lock_path, timeout=_LOCK_TIMEOUT_SECONDS):
                counts = self.read()
                counts[event] += amount
                staged = self._path.with_suffix(f".{os.getpid()}")
                staged.write_text(json.dumps(counts))
                staged.replace(self._path)
        except (OSError, Timeout):
            return

    def read(self) -> dict[str, int]:
        """Counts per event over all processes; a lost or damaged file counts from zero again."""
        try:
            stored = json.loads(self._path.read_text())
            return {event: int(stored.get(event, 0)) for event in EVENTS}
        except (OSError, ValueError, AttributeError, TypeError):
            return dict.fromkeys(EVENTS, 0)
