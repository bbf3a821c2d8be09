"""Every kernel header stands alone, on every instruction set, without warnings."""

from __future__ import annotations

import subprocess

import pytest

from spyre_inductor.build.toolchain import detect_toolchain
from spyre_inductor.render.environment import INCLUDE_DIR
from tests.support.kernels import INCLUDES, torch_library

HEADERS = sorted(path.name for path in (INCLUDE_DIR / "spyre_kernels").glob("*.h"))


@pytest.mark.parametrize("isa", ["native", "avx2", "scalar"])
def test_headers_stand_alone(isa: str) -> None:
    toolchain = detect_toolchain("g++", isa, INCLUDES)
    failures = []
    for header in HEADERS:
        command = [
            *toolchain.command, *toolchain.compile_flags, "-Wall", "-Wextra", "-Wno-parentheses",
            "-fsyntax-only", *(f"-I{path}" for path in INCLUDES),
            "-isystem", torch_library().include_dir, "-x", "c++", "-",
        ]  # fmt: skip
        done = subprocess.run(
            command,
            input=f'#include "spyre_kernels/{header}"\n',
            capture_output=True,
            text=True,
        )
        if done.returncode or done.stderr:
            failures.append(f"{header}:\n{done.stderr[:1500]}")
    assert not failures, "\n".join(failures)
