"""A damaged entry is a miss that warns and is rebuilt, whichever byte of it is wrong."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from spyre_inductor.build.entry import CHECKED_FILES
from spyre_inductor.build.kernel_cache import KernelCache
from tests.support.modules import MAX_BYTES, answer, build

FILES = (*CHECKED_FILES, "build.json")


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip_one_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def remove(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("damage", [truncate, empty, flip_one_bit, remove])
@pytest.mark.parametrize("name", FILES)
def test_damaged_file_is_rebuilt_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, damage
) -> None:
    cache = KernelCache(tmp_path / "cache", MAX_BYTES)
    entry = build(cache)
    damage(entry.directory / name)
    with caplog.at_level(logging.WARNING):
        again = build(cache)
    assert not again.hit
    assert "is damaged and is rebuilt" in caplog.text
    assert answer(again) == 42
    assert build(cache).hit
    counts = cache.statistics.read()
    assert (counts["compiles"], counts["damaged"] >= 1) == (2, True)


def test_entry_under_another_key_is_refused(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path / "cache", MAX_BYTES)
    entry = build(cache)
    other = "0" * 64
    entry.directory.rename(cache.entry_directory(other))
    assert cache.lookup(other) is None


def test_record_edited_by_hand_is_refused(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path / "cache", MAX_BYTES)
    entry = build(cache)
    path = entry.directory / "build.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "abi_version": 999}))
    assert cache.lookup(entry.key) is None
