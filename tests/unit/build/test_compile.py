"""build_module: what it stores, and what it says when the compiler refuses."""

from __future__ import annotations

import ctypes
import json
import pickle
import subprocess
from pathlib import Path

import pytest

from spyre_inductor.build import compile as compile_module
from spyre_inductor.build.compile import build_module
from spyre_inductor.build.kernel_cache import KernelCache
from spyre_inductor.errors import CompileError
from tests.support.modules import MAX_BYTES, PLANS, SOURCE, answer, build, toolchain


@pytest.fixture
def cache(tmp_path: Path) -> KernelCache:
    return KernelCache(tmp_path / "cache", MAX_BYTES)


def test_entry_holds_source_plan_module_and_record(cache: KernelCache) -> None:
    entry = build(cache)
    assert answer(entry) == 42
    assert entry.source_path.read_text().startswith(SOURCE)
    assert entry.plan_path.read_text() == PLANS
    assert {path.name for path in entry.directory.iterdir()} == {
        "kernel.cpp",
        "kernel.so",
        "plan.json",
        "build.json",
    }
    assert entry.build["abi_version"] == 2
    assert (
        entry.build["command"]
        in json.loads((entry.directory / "build.json").read_text()).values()
    )


def test_second_build_is_a_hit_without_compiler(
    cache: KernelCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build(cache)
    monkeypatch.setattr(compile_module.subprocess, "Popen", None)
    second = build(cache)
    assert (first.hit, second.hit, first.key) == (False, True, second.key)
    assert cache.statistics.here == {"misses": 1, "compiles": 1, "hits": 1}


def test_refused_source_shows_command_path_and_output(cache: KernelCache) -> None:
    with pytest.raises(CompileError) as caught:
        build_module("int wrong(", PLANS, toolchain(), cache)
    error = caught.value
    assert "error: expected" in error.output
    assert Path(error.source_path).read_text() == "int wrong("
    again = subprocess.run(
        error.command, shell=True, capture_output=True, text=True, check=False
    )
    assert again.returncode != 0 and again.stderr == error.output
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert answer(build(cache)) == 42, "the next build works"


def test_unresolved_symbol_is_found_while_building(cache: KernelCache) -> None:
    source = 'extern "C" int nowhere(); extern "C" int f() { return nowhere(); }'
    with pytest.raises(CompileError, match="nowhere"):
        build_module(source, PLANS, toolchain(), cache)


def test_compiler_that_hangs_is_stopped(
    cache: KernelCache, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slow = tmp_path / "slow-g++"
    slow.write_text(
        '#!/bin/sh\ncase "$*" in *kernel.so*) exec sleep 60;; esac\nexec g++ "$@"\n'
    )
    slow.chmod(0o755)
    monkeypatch.setattr(compile_module, "_COMPILE_TIMEOUT_SECONDS", 0.3)
    with pytest.raises(CompileError, match="did not finish"):
        build(cache, cxx=str(slow))


TWO_UNITS = (
    "#if !defined(SPYRE_UNIT) || SPYRE_UNIT == 1\n"
    + SOURCE
    + """#endif
#if !defined(SPYRE_UNIT) || SPYRE_UNIT == 2
extern "C" __attribute__((visibility("default"))) int second() { return 43; }
#endif
"""
)


@pytest.mark.parametrize("processors", [1, 2])
def test_units_become_one_module_and_its_command_can_be_repeated(
    cache: KernelCache, monkeypatch: pytest.MonkeyPatch, processors: int
) -> None:
    monkeypatch.setattr(compile_module.os, "cpu_count", lambda: processors)
    entry = build_module(TWO_UNITS, PLANS, toolchain(), cache)
    assert len(list(entry.directory.iterdir())) == 4
    assert entry.build["command"].count("SPYRE_UNIT=") == (0, 2)[processors - 1]
    entry.so_path.unlink()
    subprocess.run(entry.build["command"], shell=True, cwd=entry.directory, check=True)
    assert answer(entry) == 42
    assert ctypes.CDLL(str(entry.so_path)).second() == 43


def test_refused_unit_shows_its_own_command(
    cache: KernelCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_module.os, "cpu_count", lambda: 2)
    with pytest.raises(CompileError) as caught:
        build_module(TWO_UNITS.replace("43", "nothing"), PLANS, toolchain(), cache)
    assert "-DSPYRE_UNIT=2" in caught.value.command
    assert "nothing" in caught.value.output
