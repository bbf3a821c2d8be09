"""Several processes on one cache: one builds, the others read; a killed one harms nobody."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from spyre_inductor.build import eviction
from spyre_inductor.build.kernel_cache import KernelCache
from tests.support.modules import MAX_BYTES, answer, build, finish_worker, start_worker

HANGING_COMPILER = """#!/bin/sh
case "$*" in *kernel.so*) if [ -e {flag} ]; then touch {started}; sleep 300; fi;; esac
exec g++ "$@"
"""


def test_racing_processes_compile_once(tmp_path: Path) -> None:
    workers = [start_worker(tmp_path / "cache") for _ in range(4)]
    results = [finish_worker(worker) for worker in workers]
    assert [result["value"] for result in results] == [42] * 4
    assert sum(result["here"].get("compiles", 0) for result in results) == 1
    assert len({result["so_path"] for result in results}) == 1


def test_second_process_compiles_nothing(tmp_path: Path) -> None:
    first = finish_worker(start_worker(tmp_path / "cache"))
    second = finish_worker(start_worker(tmp_path / "cache"))
    assert (first["hit"], second["hit"]) == (False, True)
    assert second["here"] == {"hits": 1}
    assert second["all"]["compiles"] == 1


def test_killed_writer_leaves_no_entry_and_no_lock(tmp_path: Path) -> None:
    flag, started = tmp_path / "hang", tmp_path / "started"
    flag.touch()
    compiler = tmp_path / "slow-g++"
    compiler.write_text(HANGING_COMPILER.format(flag=flag, started=started))
    compiler.chmod(0o755)
    directory = tmp_path / "cache"
    writer = start_worker(directory, "--cxx", str(compiler), start_new_session=True)
    _wait_for(started)
    os.killpg(writer.pid, signal.SIGKILL)
    writer.communicate()
    assert list((directory / "entries").iterdir()) == []
    assert len(list((directory / "staging").iterdir())) == 1

    flag.unlink()
    result = finish_worker(start_worker(directory, "--cxx", str(compiler)))
    assert (result["hit"], result["value"]) == (False, 42)

    left = next((directory / "staging").iterdir())
    os.utime(left, (0, 0))
    eviction.evict(directory, MAX_BYTES)
    assert not left.exists()


def test_threads_of_one_process_share_the_build(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    cache = KernelCache(tmp_path / "cache", MAX_BYTES)
    with ThreadPoolExecutor(8) as pool:
        entries = list(pool.map(lambda _: build(cache), range(8)))
    assert {answer(entry) for entry in entries} == {42}
    assert cache.statistics.read()["compiles"] == 1


def _wait_for(path: Path, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear in {seconds} s"
        time.sleep(0.02)
