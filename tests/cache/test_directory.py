"""Directories that cannot or must not be used: read-only, full, missing, alien, open to others."""

from __future__ import annotations

import errno
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from spyre_inductor.build import compile as compile_module
from spyre_inductor.build.kernel_cache import KernelCache, open_cache
from spyre_inductor.errors import CacheError
from tests.support.modules import (
    CXX,
    MAX_BYTES,
    REPOSITORY,
    answer,
    build,
)

NOBODY = 65534
IN_OWN_MOUNTS = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
FULL_COMPILER = """#!/bin/sh
case "$PWD $*" in
  {full}/*kernel.so*) echo "as: kernel.o: No space left on device" >&2; exit 1;;
esac
exec {cxx} "$@"
"""


def _can_mount() -> bool:
    """Whether an unprivileged mount works here; some containers forbid it."""
    try:
        mount = [*IN_OWN_MOUNTS, "mount -t tmpfs none /tmp"]
        return subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def test_missing_directory_is_created_private(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path / "a" / "b", MAX_BYTES)
    assert cache.directory.stat().st_mode & 0o777 == 0o700


def _read_only_by() -> list[str]:
    """How this user can make a directory read-only; root ignores mode bits."""
    ways = ["mode bits"] if os.geteuid() != 0 else []
    return [*ways, "mount"] if _can_mount() else ways


@pytest.mark.parametrize("way", _read_only_by())
def test_read_only_directory_warns_and_builds_elsewhere(
    tmp_path: Path, way: str
) -> None:
    directory = tmp_path / "cache"
    served = build(KernelCache(directory, MAX_BYTES), salt="kept")
    script = f"{sys.executable} -m tests.support.modules {directory}"
    if way == "mount":
        mount = f"mount --bind {directory} {directory}"
        remount = f"mount -o remount,ro,bind {directory}"
        script = f"{mount} && {remount} && {script} && {script} --salt kept"
        command = [*IN_OWN_MOUNTS, script]
    else:
        for path in (*directory.iterdir(), directory):
            path.chmod(0o500)
        command = ["sh", "-c", f"{script} && {script} --salt kept"]
    done = _run(command)
    new, old = (json.loads(line) for line in done.stdout.splitlines())
    assert (new["hit"], new["value"]) == (False, 42)
    assert "it goes to" in done.stderr
    assert not Path(new["so_path"]).exists(), "the stand-in outlived its process"
    assert (old["hit"], old["so_path"]) == (True, str(served.so_path))


def test_directory_that_cannot_be_created_warns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    with caplog.at_level(logging.WARNING):
        cache = open_cache(tmp_path / "file" / "cache", MAX_BYTES)
    assert "SPYRE_CACHE_DIR" in caplog.text
    assert answer(build(cache)) == 42


def test_disk_full_for_the_compiler_builds_elsewhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    compiler = tmp_path / "g++-on-a-full-disk"
    compiler.write_text(FULL_COMPILER.format(full=tmp_path / "cache", cxx=CXX))
    compiler.chmod(0o755)
    cache = KernelCache(tmp_path / "cache", MAX_BYTES)
    entry = build(cache, cxx=str(compiler))
    assert answer(entry) == 42
    assert cache.directory not in entry.directory.parents
    assert "No space left" in caplog.text
    assert list((cache.directory / "staging").iterdir()) == []


def test_disk_full_everywhere_is_a_typed_error(tmp_path: Path) -> None:
    compiler = tmp_path / "g++-on-a-full-disk"
    compiler.write_text(FULL_COMPILER.format(full="", cxx=CXX))
    compiler.chmod(0o755)
    cache = KernelCache(tmp_path / "cache", MAX_BYTES)
    with pytest.raises(CacheError, match=r"No space left.*SPYRE_CACHE_DIR"):
        build(cache, cxx=str(compiler))
    assert answer(build(cache)) == 42, "the next build works"


def test_disk_full_for_the_record_builds_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cache = KernelCache(tmp_path / "cache", MAX_BYTES)
    write = compile_module.write_build_record

    def write_unless_full(directory: Path, *rest: object) -> None:
        if cache.directory in directory.parents:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(directory, *rest)

    monkeypatch.setattr(compile_module, "write_build_record", write_unless_full)
    entry = build(cache)
    assert answer(entry) == 42
    assert cache.directory not in entry.directory.parents
    assert "No space left" in caplog.text
    assert build(cache).hit, "the stand-in serves the rest of the process"


@pytest.mark.parametrize("kib", [4, 16, 24] if _can_mount() else [])
def test_disk_truly_full_builds_elsewhere(tmp_path: Path, kib: int) -> None:
    script = (
        f"mount -t tmpfs -o size={kib}k,mode=700 none {tmp_path} && "
        f"{sys.executable} -m tests.support.modules {tmp_path}/cache"
    )
    command = [*IN_OWN_MOUNTS, script]
    done = _run(command)
    result = json.loads(done.stdout)
    assert (result["hit"], result["value"]) == (False, 42)
    assert "No space left" in done.stderr
    assert str(tmp_path) not in result["so_path"]


def test_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    directory.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(directory, NOBODY, NOBODY)
    else:
        directory = Path("/usr")
    with pytest.raises(CacheError, match=r"belongs to user .*SPYRE_CACHE_DIR"):
        open_cache(directory, MAX_BYTES)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_directory_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    directory = tmp_path / "cache"
    directory.mkdir()
    directory.chmod(mode)
    with pytest.raises(CacheError, match="chmod 700"):
        open_cache(directory, MAX_BYTES)


def test_file_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(CacheError, match="not a directory"):
        open_cache(tmp_path / "cache", MAX_BYTES)


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done
