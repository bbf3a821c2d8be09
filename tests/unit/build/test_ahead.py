"""Compilers that start before their source is complete: used when right, without trace when not."""

from __future__ import annotations

import gc
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from spyre_inductor.build import ahead as ahead_module
from spyre_inductor.build import compile as compile_module
from spyre_inductor.build.ahead import UnitsAhead
from spyre_inductor.build.compile import build_steps
from spyre_inductor.build.entry import CacheEntry
from spyre_inductor.build.kernel_cache import KernelCache
from spyre_inductor.build.toolchain import Toolchain, detect_toolchain
from spyre_inductor.errors import CompileError
from tests.support.modules import CXX, INCLUDE, MAX_BYTES, PLANS, SOURCE, answer
from tests.unit.build.test_compile import TWO_UNITS

KERNEL_INCLUDE = INCLUDE.parents[1] / "codegen_templates" / "include"
FIRST_UNIT = TWO_UNITS[: TWO_UNITS.index("#endif") + len("#endif\n")]


@pytest.fixture
def cache(tmp_path: Path) -> KernelCache:
    return KernelCache(tmp_path / "cache", MAX_BYTES)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The sources that were compiled after they were complete."""
    sources: list[str] = []
    run = compile_module._run_side_by_side

    def noted(staged: Path, key: str, commands: list, cache: KernelCache):
        sources.extend(" ".join(c) for c in commands if compile_module.SOURCE_FILE in c)
        return run(staged, key, commands, cache)

    monkeypatch.setattr(compile_module, "_run_side_by_side", noted)
    yield sources


def toolchain(cxx: str = CXX) -> Toolchain:
    return detect_toolchain(cxx, "native", [KERNEL_INCLUDE, INCLUDE])


def build(
    source: str, cache: KernelCache, ahead: UnitsAhead, cxx: str = CXX
) -> CacheEntry:
    steps = build_steps(source, PLANS, toolchain(cxx), cache, ahead)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value


def nothing_is_left(cache: KernelCache) -> bool:
    return not list((cache.directory / "staging").iterdir())


def test_the_whole_source_is_compiled_by_the_waiting_one(
    cache: KernelCache, compiled: list[str]
) -> None:
    ahead = UnitsAhead(toolchain(), cache)
    ahead.give_last(SOURCE)
    entry = build(SOURCE, cache, ahead)
    assert answer(entry) == 42
    assert compiled == []
    assert {path.name for path in entry.directory.iterdir()} == {
        "kernel.cpp",
        "kernel.so",
        "plan.json",
        "build.json",
    }
    assert nothing_is_left(cache)
    # The record says how to make it again, in one command.
    entry.so_path.unlink()
    subprocess.run(entry.build["command"], shell=True, cwd=entry.directory, check=True)
    assert answer(entry) == 42


def test_units_that_were_given_early_are_taken_over(
    cache: KernelCache, compiled: list[str]
) -> None:
    ahead = UnitsAhead(toolchain(), cache)
    assert ahead.is_free()
    ahead.give(FIRST_UNIT)
    ahead.give_last(TWO_UNITS)
    assert answer(build(TWO_UNITS, cache, ahead)) == 42
    assert compiled == []
    assert nothing_is_left(cache)


def test_a_unit_without_its_own_compiler_is_compiled_beside(
    cache: KernelCache, compiled: list[str]
) -> None:
    ahead = UnitsAhead(toolchain(), cache)
    ahead.give(FIRST_UNIT)
    assert answer(build(TWO_UNITS, cache, ahead)) == 42
    assert [text.count("SPYRE_UNIT=2") for text in compiled] == [1]


def test_a_source_that_turned_out_otherwise_is_compiled_anew(
    cache: KernelCache, compiled: list[str]
) -> None:
    ahead = UnitsAhead(toolchain(), cache)
    ahead.give(FIRST_UNIT.replace("42", "41"))
    entry = build(TWO_UNITS, cache, ahead)
    assert answer(entry) == 42
    assert compiled
    assert nothing_is_left(cache)


def test_a_header_that_changed_meanwhile_counts(
    cache: KernelCache, compiled: list[str], tmp_path: Path
) -> None:
    header = tmp_path / "include" / "value.h"
    header.parent.mkdir()
    header.write_text("#define VALUE 41\n")
    source = '#include "value.h"\n' + SOURCE.replace("42", "VALUE")
    folders = [KERNEL_INCLUDE, INCLUDE, header.parent]
    ahead = UnitsAhead(detect_toolchain(CXX, "native", folders), cache)
    ahead.give_last(source)
    header.write_text("#define VALUE 42\n")
    steps = build_steps(
        source, PLANS, detect_toolchain(CXX, "native", folders), cache, ahead
    )
    with pytest.raises(StopIteration) as done:
        while True:
            next(steps)
    assert answer(done.value.value) == 42
    assert compiled


def test_other_flags_than_at_the_start_count(
    cache: KernelCache, compiled: list[str]
) -> None:
    ahead = UnitsAhead(toolchain(f"{CXX} -DOTHER"), cache)
    ahead.give_last(SOURCE)
    assert answer(build(SOURCE, cache, ahead)) == 42
    assert compiled


def test_a_refused_source_is_reported_as_ever(cache: KernelCache) -> None:
    ahead = UnitsAhead(toolchain(), cache)
    ahead.give_last("int wrong(")
    with pytest.raises(CompileError) as caught:
        build("int wrong(", cache, ahead)
    assert "error: expected" in caught.value.output
    assert Path(caught.value.source_path).read_text() == "int wrong("
    assert nothing_is_left(cache)


def test_a_hit_ends_the_compiler(cache: KernelCache) -> None:
    build(SOURCE, cache, UnitsAhead(toolchain(), cache))
    ahead = UnitsAhead(toolchain(), cache)
    waiting = ahead._waiting
    assert waiting is not None
    assert build(SOURCE, cache, ahead).hit
    assert waiting.process.returncode == -9
    assert nothing_is_left(cache)


def test_a_graph_that_fails_leaves_no_compiler(cache: KernelCache) -> None:
    ahead = UnitsAhead(toolchain(), cache)
    assert ahead._waiting is not None
    process = ahead._waiting.process
    del ahead
    gc.collect()
    assert process.returncode == -9
    assert nothing_is_left(cache)


def test_a_text_that_no_pipe_holds_is_compiled_when_complete(
    cache: KernelCache, compiled: list[str]
) -> None:
    source = SOURCE + "//" + "x" * (8 << 20) + "\n"
    ahead = UnitsAhead(toolchain(), cache)
    ahead.give_last(source)
    assert answer(build(source, cache, ahead)) == 42
    assert compiled


def test_a_compiler_that_reads_twice_finds_the_file(
    cache: KernelCache, compiled: list[str], tmp_path: Path
) -> None:
    """As ccache does: it looks at the preprocessed source first."""
    twice = tmp_path / "twice-g++"
    first = f'case "$*" in *-c*) {CXX} -E "$@" -o /dev/null;; esac'
    twice.write_text(f'#!/bin/sh\n{first}\nexec {CXX} "$@"\n')
    twice.chmod(0o755)
    ahead = UnitsAhead(toolchain(str(twice)), cache)
    ahead.give_last(SOURCE)
    assert answer(build(SOURCE, cache, ahead, str(twice))) == 42
    assert compiled == []


def test_a_forked_child_does_not_keep_the_source_open(cache: KernelCache) -> None:
    ahead = UnitsAhead(toolchain(), cache)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writer)
        os.read(reader, 1)  # lives until the parent is done
        os._exit(0)
    try:
        ahead.give_last(SOURCE)
        assert answer(build(SOURCE, cache, ahead)) == 42
    finally:
        os.close(writer)
        os.waitpid(child, 0)


def test_without_a_place_there_is_nothing_ahead(
    cache: KernelCache, monkeypatch: pytest.MonkeyPatch, compiled: list[str]
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no pipes here")

    monkeypatch.setattr(ahead_module.os, "mkfifo", refuse)
    ahead = UnitsAhead(toolchain(), cache)
    assert not ahead.is_free()
    ahead.give_last(SOURCE)
    assert answer(build(SOURCE, cache, ahead)) == 42
    assert compiled
    assert nothing_is_left(cache)
