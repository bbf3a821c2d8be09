"""Counters that several processes share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from spyre_inductor.build.statistics import EVENTS, Statistics


def test_counts_add_up_over_users_of_the_directory(tmp_path: Path) -> None:
    users = [Statistics(tmp_path) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for user in users:
            for _ in range(5):
                pool.submit(user.count, "hits")
    assert Statistics(tmp_path).read()["hits"] == 20
    assert [user.here["hits"] for user in users] == [5] * 4


def test_unknown_event_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="hits, misses"):
        Statistics(tmp_path).count("guesses")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"hits": "many"}'])
def test_damaged_file_counts_from_zero(tmp_path: Path, text: str) -> None:
    (tmp_path / "statistics.json").write_text(text)
    statistics = Statistics(tmp_path)
    assert statistics.read() == dict.fromkeys(EVENTS, 0)
    statistics.count("hits")
    assert statistics.read()["hits"] == 1


def test_unwritable_directory_counts_here(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    statistics = Statistics(tmp_path / "file")
    statistics.count("misses")
    assert statistics.here["misses"] == 1
    assert statistics.read()["misses"] == 0
