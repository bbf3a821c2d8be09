"""`spyre-inductor cache ...` on a real cache."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spyre_inductor.build.kernel_cache import KernelCache
from spyre_inductor.cli.__main__ import main
from tests.support.modules import MAX_BYTES, PLANS, SOURCE, build


@pytest.fixture
def cache(tmp_path: Path) -> KernelCache:
    made = KernelCache(tmp_path / "cache", MAX_BYTES)
    build(made, "one"), build(made, "two")
    return made


def run(
    capsys: pytest.CaptureFixture, cache: KernelCache, *words: str
) -> tuple[int, str]:
    code = main(["cache", *words, "--dir", str(cache.directory)])
    return code, capsys.readouterr().out


def test_list_names_modules_and_kernels(capsys, cache: KernelCache) -> None:
    code, text = run(capsys, cache, "list")
    assert code == 0 and text.count("answer") == 2 and "2 modules" in text
    data = json.loads(run(capsys, cache, "list", "--json")[1])
    assert [entry["kernels"] for entry in data["entries"]] == [["answer"]] * 2
    assert data["statistics"]["compiles"] == 2


def test_show_takes_the_start_of_a_key(capsys, cache: KernelCache) -> None:
    key = build(cache, "one").key
    assert f"key      {key}" in run(capsys, cache, "show", key[:20])[1]
    assert run(capsys, cache, "show", key, "--plan")[1].strip() == PLANS
    assert run(capsys, cache, "show", key, "--source")[1].startswith(SOURCE)
    data = json.loads(run(capsys, cache, "show", key, "--json")[1])
    assert data["kernels"] == ["answer"] and data["files"]["kernel.so"]["bytes"] > 0


@pytest.mark.parametrize(("start", "text"), [("zz", "no module"), ("", "2 modules")])
def test_show_needs_exactly_one_module(capsys, cache, start: str, text: str) -> None:
    assert main(["cache", "show", start, "--dir", str(cache.directory)]) == 2
    assert text in capsys.readouterr().err


def test_verify_finds_and_removes_damage(capsys, cache: KernelCache) -> None:
    assert run(capsys, cache, "verify")[0] == 0
    entry = build(cache, "one")
    entry.so_path.write_bytes(b"\x7fELF")
    code, text = run(capsys, cache, "verify")
    assert code == 1 and "kernel.so has 4 bytes" in text
    assert run(capsys, cache, "verify", "--remove")[0] == 1
    assert run(capsys, cache, "verify") == (0, "1 modules checked, 0 damaged\n")


def test_prune_keeps_within_the_bound(capsys, cache: KernelCache) -> None:
    data = json.loads(run(capsys, cache, "prune", "--max-bytes", "20000", "--json")[1])
    assert len(data["removed"]) == 1
    assert "removed 1 of 1" in run(capsys, cache, "prune", "--all")[1]


def test_prune_needs_a_bound(cache: KernelCache) -> None:
    with pytest.raises(SystemExit):
        main(["cache", "prune", "--dir", str(cache.directory)])


def test_missing_directory_is_an_empty_cache(capsys, tmp_path: Path) -> None:
    assert main(["cache", "list", "--dir", str(tmp_path / "none")]) == 0
    assert "0 modules" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()


def test_path_follows_the_environment(capsys, monkeypatch) -> None:
    monkeypatch.setenv("SPYRE_CACHE_DIR", "/somewhere")
    assert main(["cache", "path"]) == 0
    assert capsys.readouterr().out == "/somewhere\n"
