"""The size bound: least recently used first, never what is in use."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from spyre_inductor.build import kernel_cache
from spyre_inductor.build.eviction import evict, remove, stored_entries
from spyre_inductor.build.kernel_cache import KernelCache
from tests.support.modules import build


def add(
    directory: Path, key: str, size: int, age_seconds: float, kind: str = "entries"
) -> None:
    path = directory / kind / key
    path.mkdir(parents=True)
    (path / "kernel.so").write_bytes(b"x" * size)
    when = time.time() - age_seconds
    os.utime(path, (when, when))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "staging").mkdir()
    for key, age in (("old", 300), ("older", 600), ("new", 100)):
        add(tmp_path, key, 100, age)
    return tmp_path


def test_lists_least_recently_used_first(directory: Path) -> None:
    found = stored_entries(directory)
    assert [(entry.key, entry.bytes) for entry in found] == [
        ("older", 100),
        ("old", 100),
        ("new", 100),
    ]


@pytest.mark.parametrize(
    ("limit", "removed"),
    [
        (300, []),
        (299, ["older"]),
        (100, ["older", "old"]),
        (0, ["older", "old", "new"]),
    ],
)
def test_removes_only_what_exceeds_the_limit(
    directory: Path, limit: int, removed: list[str]
) -> None:
    assert evict(directory, limit) == removed
    assert sum(entry.bytes for entry in stored_entries(directory)) <= limit
    assert list((directory / "staging").iterdir()) == []


def test_entry_used_a_moment_ago_stays(directory: Path) -> None:
    add(directory, "used now", 100, 0)
    assert "used now" not in evict(directory, 0)


def test_kept_entry_stays(directory: Path) -> None:
    assert evict(directory, 0, keep="older") == ["old", "new"]


def test_refused_sources_are_bounded_with_the_entries(directory: Path) -> None:
    add(directory, "refused", 100, 400, kind="failed")
    assert evict(directory, 250) == ["older"]
    assert not (directory / "failed" / "refused").exists()
    assert [entry.key for entry in stored_entries(directory)] == ["old", "new"]


def test_a_refused_build_makes_room_for_its_source(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path / "cache", 100)
    for number in range(3):
        key = f"{number:064}"
        with cache.lock(key), cache.staging(key) as staged:
            (staged / "kernel.cpp").write_text("x" * 80)
            kept = cache.keep_failed(staged, key)
        os.utime(kept, (number, number))
    assert [entry.key for entry in stored_entries(cache.directory, "failed")] == [key]


def test_use_makes_an_entry_young(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path / "cache", 1 << 30)
    first, second = build(cache, "first"), build(cache, "second")
    for age, entry in ((600, first), (300, second)):
        os.utime(entry.directory, (time.time() - age, time.time() - age))
    assert build(cache, "first").hit
    assert [entry.key for entry in stored_entries(cache.directory)] == [
        second.key,
        first.key,
    ]


def test_cache_stays_within_its_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_cache, "_BUILDS_PER_EVICTION", 1)
    cache = KernelCache(tmp_path / "cache", 40_000)
    for number in range(6):
        entry = build(cache, str(number))
        os.utime(entry.directory, (number, number))
    total = sum(entry.bytes for entry in stored_entries(cache.directory))
    assert total <= cache.max_bytes
    assert cache.statistics.read()["evicted"] == 6 - len(
        stored_entries(cache.directory)
    )
    assert build(cache, "5").hit and not build(cache, "0").hit


def test_removing_twice_is_no_error(directory: Path) -> None:
    remove(directory, "old")
    remove(directory, "old")
    assert [entry.key for entry in stored_entries(directory)] == ["older", "new"]
