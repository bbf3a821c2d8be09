"""One cache entry on disk: four files, and the record that proves they belong together.

    kernel.cpp   what was rendered          kernel.so   what the compiler made of it
    plan.json    what it was rendered from  build.json  how, with a checksum of every file

Invariant: `read_entry` returns an entry only if every byte of it is what the writer wrote.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spyre_inductor.errors import CacheError

SOURCE_FILE = "kernel.cpp"
MODULE_FILE = "kernel.so"
PLAN_FILE = "plan.json"
BUILD_FILE = "build.json"
CHECKED_FILES = (SOURCE_FILE, MODULE_FILE, PLAN_FILE)


@dataclass(frozen=True)
class CacheEntry:
    """A verified entry. `hit` is False when this process built it."""

    key: str
    directory: Path
    hit: bool
    build: Mapping[
        str, Any
    ]  # build.json: command, compiler, isa, abi_version, compile_ms, files

    @property
    def so_path(self) -> Path:
        return self.directory / MODULE_FILE

    @property
    def source_path(self) -> Path:
        return self.directory / SOURCE_FILE

    @property
    def plan_path(self) -> Path:
        return self.directory / PLAN_FILE


def write_build_record(directory: Path, key: str, facts: Mapping[str, Any]) -> None:
    """Writes build.json for the files in `directory`, then makes all four durable."""
    files = {}
    for name in CHECKED_FILES:
        data = (directory / name).read_bytes()
        files[name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    record = {"key": key, **facts, "files": files}
    record["checksum"] = _record_checksum(record)
    (directory / BUILD_FILE).write_text(json.dumps(record, indent=1, sort_keys=True))
    for name in (*CHECKED_FILES, BUILD_FILE):
        fsync(directory / name)
    fsync(directory)


def read_entry(directory: Path, key: str) -> CacheEntry:
    """The entry in `directory`, checked.

    Raises:
        FileNotFoundError: there is none.
        CacheError: it is damaged; the text says which file and how.
    """
    if not directory.is_dir():
        raise FileNotFoundError(directory)
    try:
        record = json.loads((directory / BUILD_FILE).read_bytes())
        checksum = record.pop("checksum")
        if checksum != _record_checksum(record):
            raise CacheError(f"{BUILD_FILE} does not match its checksum")
        if record["key"] != key:
            raise CacheError(f"{BUILD_FILE} belongs to {record['key']}")
        for name in CHECKED_FILES:
            _check_file(directory / name, record["files"][name])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CacheError(
            f"{BUILD_FILE} or a file it names is unreadable: {error}"
        ) from error
    return CacheEntry(key, directory, True, record)


def fsync(path: Path) -> None:
    """Makes a file or directory durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_file(path: Path, expected: Mapping[str, Any]) -> None:
    data = path.read_bytes()
    if len(data) != expected["bytes"]:
        raise CacheError(
            f"{path.name} has {len(data)} bytes instead of {expected['bytes']}"
        )
    if hashlib.sha256(data).hexdigest() != expected["sha256"]:
        raise CacheError(f"{path.name} does not match its checksum")


def _record_checksum(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
