"""The key changes with everything that changes a binary, and with nothing else."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from spyre_inductor.build import cache_key as cache_key_module
from spyre_inductor.build.cache_key import abi_version, cache_key
from spyre_inductor.build.toolchain import Library, Toolchain
from spyre_inductor.errors import CompileError

ABI = "#define SPYRE_KERNEL_ABI_VERSION 7\n"


@pytest.fixture
def chain(tmp_path: Path) -> Toolchain:
    (tmp_path / "spyre").mkdir()
    (tmp_path / "spyre" / "kernel_abi.h").write_text(ABI)
    (tmp_path / "vec.h").write_text("// lanes\n")
    return Toolchain(
        command=("/usr/bin/g++",),
        version="gcc version 12.2.0",
        isa="avx512",
        host_digest="h",
        compile_flags=("-O3",),
        link_flags=("-lm",),
        include_dirs=(str(tmp_path),),
    )


def test_equal_inputs_give_equal_keys(chain: Toolchain) -> None:
    assert cache_key("a", "b", chain) == cache_key("a", "b", chain)


def test_parts_do_not_run_together(chain: Toolchain) -> None:
    assert cache_key("ab", "c", chain) != cache_key("a", "bc", chain)


@pytest.mark.parametrize(
    "change",
    [
        {"command": ("/usr/local/bin/g++",)},
        {"version": "gcc version 13.1.0"},
        {"isa": "avx2"},
        {"host_digest": "other cpu"},
        {"compile_flags": ("-O2",)},
        {"link_flags": ("-lm", "-lgcc")},
        {"library": Library("/torch/include", "2.14.0")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_changed_toolchain_changes_the_key(chain: Toolchain, change: dict) -> None:
    other = dataclasses.replace(chain, **change)
    assert cache_key("a", "b", chain) != cache_key("a", "b", other)


def test_every_field_of_the_toolchain_counts(chain: Toolchain) -> None:
    covered = {
        "command",
        "version",
        "isa",
        "host_digest",
        "compile_flags",
        "link_flags",
        "library",
    }
    fields = {field.name for field in dataclasses.fields(Toolchain)}
    assert fields == covered | {"include_dirs"}, "a new field needs a place in the key"


@pytest.mark.parametrize("name", ["vec.h", "spyre/kernel_abi.h"])
def test_changed_header_changes_the_key(
    chain: Toolchain, tmp_path: Path, name: str
) -> None:
    before = cache_key("a", "b", chain)
    header = tmp_path / name
    header.write_text(header.read_text() + "// changed\n")
    assert cache_key("a", "b", chain) != before


def test_new_and_renamed_headers_change_the_key(
    chain: Toolchain, tmp_path: Path
) -> None:
    before = cache_key("a", "b", chain)
    (tmp_path / "vec.h").rename(tmp_path / "lanes.h")
    assert cache_key("a", "b", chain) != before


def test_changed_source_or_plan_changes_the_key(chain: Toolchain) -> None:
    keys = {cache_key(s, p, chain) for s in ("a", "A") for p in ("b", "B")}
    assert len(keys) == 4


@pytest.mark.parametrize("name", ["PLAN_VERSION", "ENTRY_FORMAT"])
def test_changed_version_changes_the_key(
    chain: Toolchain, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = cache_key("a", "b", chain)
    monkeypatch.setattr(cache_key_module, name, 10**6)
    assert cache_key("a", "b", chain) != before


def test_location_of_the_headers_does_not_count(
    chain: Toolchain, tmp_path: Path
) -> None:
    before = cache_key("a", "b", chain)
    moved = tmp_path / "moved"
    (moved / "spyre").mkdir(parents=True)
    for name in ("spyre/kernel_abi.h", "vec.h"):
        (tmp_path / name).rename(moved / name)
    other = dataclasses.replace(chain, include_dirs=(str(moved),))
    assert cache_key("a", "b", other) == before


def test_abi_version_is_read_from_the_header(chain: Toolchain) -> None:
    assert abi_version(chain) == 7
    with pytest.raises(CompileError, match=r"kernel_abi\.h"):
        abi_version(dataclasses.replace(chain, include_dirs=()))
