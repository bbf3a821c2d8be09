"""Compiler detection: one run, absolute path, clear errors."""

from __future__ import annotations

import pickle
import subprocess
from pathlib import Path

import pytest

from spyre_inductor.build import toolchain as toolchain_module
from spyre_inductor.build.toolchain import ISA_FLAGS, detect_toolchain
from spyre_inductor.errors import CompileError, UnsupportedError
from tests.support.modules import CXX


def test_names_an_absolute_compiler_and_its_version() -> None:
    found = detect_toolchain(CXX, "native", [])
    assert Path(found.command[0]).is_absolute()
    assert "version" in found.version
    assert found.isa in ("avx512", "avx2", "scalar")


def test_asks_the_compiler_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs = []
    real = subprocess.run
    monkeypatch.setattr(
        toolchain_module.subprocess,
        "run",
        lambda *words, **options: runs.append(words) or real(*words, **options),
    )
    own = tmp_path / "own-g++"
    own.write_text(f'#!/bin/sh\nexec {CXX} "$@"\n')
    own.chmod(0o755)
    for isa in ("native", "scalar"):
        detect_toolchain(str(own), isa, [])
    assert len(runs) == 1


def test_words_after_the_compiler_are_kept() -> None:
    found = detect_toolchain(f"{CXX} -DWORD=1", "native", [])
    assert found.compile_command("a.cpp", "a.so")[1] == "-DWORD=1"


@pytest.mark.parametrize("name", ["no-such-compiler", "", "/nowhere/g++"])
def test_missing_compiler_is_one_clear_sentence(name: str) -> None:
    with pytest.raises(
        CompileError, match=r"install g.. 11 or newer, or name"
    ) as caught:
        detect_toolchain(name, "native", [])
    assert "Traceback" not in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_compiler_that_does_not_run_shows_what_it_said(tmp_path: Path) -> None:
    broken = tmp_path / "broken-g++"
    broken.write_text("#!/bin/sh\necho out of order >&2; exit 3\n")
    broken.chmod(0o755)
    with pytest.raises(CompileError, match="out of order"):
        detect_toolchain(str(broken), "native", [])


def test_unknown_instruction_set_lists_the_known_ones() -> None:
    with pytest.raises(UnsupportedError, match="native, avx512, avx2, scalar"):
        detect_toolchain(CXX, "mmx", [])


def test_instruction_set_the_host_lacks_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(toolchain_module, "_probe", lambda *_: ("gcc version 1", {}))
    with pytest.raises(UnsupportedError, match="this host has scalar"):
        detect_toolchain(CXX, "avx512", [])


def test_never_links_fast_math() -> None:
    for isa in ("native", "scalar"):
        command = detect_toolchain(CXX, isa, []).compile_command("a.cpp", "a.so")
        assert "-ffast-math" not in command and "-Ofast" not in command
    assert set(ISA_FLAGS) == {"native", "avx512", "avx2", "scalar"}
