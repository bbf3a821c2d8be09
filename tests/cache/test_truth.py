"""No cache serves what an older compiler made; for flags see e2e/test_compile_caches.py.

A copy of the packages compiles one function in a process of its own, then a part of the copy or of
the settings changes and another process compiles it again, with the same cache directories.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.modules import CXX, REPOSITORY

PROGRAM = """
import json, torch
from spyre_inductor.launch.async_compile import current_cache
x = torch.tensor([-1.0, 2.0], device="spyre")
result = torch.compile(lambda x: torch.relu(x * 3) + 1, backend="spyre")(x)
cache = current_cache()
sources = [p.read_text() for p in cache.directory.glob("entries/*/kernel.cpp")]
counts = dict(cache.statistics.here)
print(json.dumps({"result": result.tolist(), "counts": counts, "sources": sources}))
"""
EXPECTED = [1.0, 7.0]
RENDERED_DIFFERENTLY = """

_render_module_before = render_module


def render_module(*args, **options):
    return _render_module_before(*args, **options) + "\\n// changed code generator\\n"
"""


class Copy:
    """A copy of the packages with caches of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("spyre_inductor", "codegen_templates", "torch_spyre"):
            ignored = shutil.ignore_patterns("__pycache__", "csrc")
            shutil.copytree(REPOSITORY / name, root / name, ignore=ignored)
        for path in REPOSITORY.glob("*.egg-info"):  # entry points, if not installed
            shutil.copytree(path, root / path.name)

    def run(self, **variables: str) -> dict:
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.root),
            "TORCHINDUCTOR_CACHE_DIR": str(self.root / "cache"),
            **variables,
        }
        environment.pop("SPYRE_CACHE_DIR", None)
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    @contextmanager
    def restored_afterwards(self) -> Iterator[None]:
        """Puts the sources back; the caches stay, and so does the folder's name."""
        folders = ("spyre_inductor", "codegen_templates")
        files = [path for name in folders for path in (self.root / name).rglob("*")]
        kept = {path: path.read_bytes() for path in files if path.is_file()}
        yield
        for path, data in kept.items():
            path.write_bytes(data)

    def append(self, name: str, text: str) -> None:
        with (self.root / name).open("a") as file:
            file.write(text)


def change_template(copy: Copy) -> dict[str, str]:
    for path in (copy.root / "codegen_templates" / "kernels").glob("*.jinja"):
        copy.append(str(path), "\n// changed template\n")
    return {}


def change_header(copy: Copy) -> dict[str, str]:
    for path in (copy.root / "codegen_templates" / "include").rglob("*.h"):
        copy.append(str(path), "\n// changed header\n")
    return {}


def change_code_generator(copy: Copy) -> dict[str, str]:
    copy.append("spyre_inductor/render/renderer.py", RENDERED_DIFFERENTLY)
    return {}


def change_compiler(copy: Copy) -> dict[str, str]:
    other = copy.root / "other-compiler"
    other.write_text(f'#!/bin/sh\nexec {CXX} "$@"\n')
    other.chmod(0o755)
    return {"SPYRE_BUILD_CXX": str(other)}


CHANGES = [
    change_template,
    change_header,
    change_code_generator,
    change_compiler,
]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A copy whose caches are warm: a third run would compile nothing."""
    copy = Copy(tmp_path_factory.mktemp("copy"))
    assert copy.run()["counts"]["compiles"] == 1
    warm = copy.run()
    assert warm["result"] == EXPECTED
    assert warm["counts"] == {"hits": 1}
    return copy


@pytest.mark.parametrize("change", CHANGES)
def test_changed_part_is_never_served_from_a_cache(
    first: Copy, change: Callable[[Copy], dict[str, str]]
) -> None:
    with first.restored_afterwards():
        after = first.run(**change(first))
    assert after["counts"].get("compiles") == 1, "an old kernel was served"
    assert after["result"] == EXPECTED
    marker = change.__name__.removeprefix("change_").replace("_", " ")
    if change in (change_template, change_code_generator):
        assert any(f"// changed {marker}" in source for source in after["sources"])
