"""Whatever decides the generated code enters the hash that Inductor's caches use."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from spyre_inductor.passes import fingerprint
from spyre_inductor.passes.graph_pass import SpyreGraphPass

FILES = ("kernels/loop.cpp.jinja", "include/spyre_kernels/vector.h", "scheduling.py")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text\n")
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_a_changed_added_or_renamed_file_changes_the_digest(
    tree: Path, name: str
) -> None:
    seen = {fingerprint.sources_digest(tree)}
    path = tree / name
    path.write_text("other text\n")
    seen.add(fingerprint.sources_digest(tree))
    path.rename(path.with_name("renamed_" + path.name))
    seen.add(fingerprint.sources_digest(tree))
    path.write_text("text\n")
    seen.add(fingerprint.sources_digest(tree))
    assert len(seen) == 4


def test_files_that_generate_nothing_do_not_count(tree: Path) -> None:
    before = fingerprint.sources_digest(tree)
    (tree / "__pycache__").mkdir()
    (tree / "__pycache__" / "scheduling.pyc").write_bytes(b"x")
    assert fingerprint.sources_digest(tree) == before


@pytest.mark.parametrize(
    "change",
    [
        {"version": "gcc version 99"},
        {"isa": "scalar"},
        {"host_digest": "another host"},
        {"compile_flags": ("-O0",)},
        {"link_flags": ("-lother",)},
        {"command": ("/usr/bin/clang++",)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_compiler_flags_and_host_count(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, object]
) -> None:
    before = SpyreGraphPass().uuid()
    changed = dataclasses.replace(fingerprint.current_toolchain(), **change)
    monkeypatch.setattr(fingerprint, "current_toolchain", lambda: changed)
    assert SpyreGraphPass().uuid() != before
