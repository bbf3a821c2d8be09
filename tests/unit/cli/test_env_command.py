"""`spyre-inductor env`, and that the command starts without torch."""

from __future__ import annotations

import json
import subprocess
import sys

from spyre_inductor.cli.__main__ import main
from tests.support.modules import REPOSITORY


def test_reports_packages_compiler_and_knobs(capsys, monkeypatch) -> None:
    monkeypatch.setenv("SPYRE_CODEGEN_CORES", "8")
    assert main(["env", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["packages"]["torch"] != "not installed"
    assert data["toolchain"]["isa"] in ("avx512", "avx2", "scalar")
    assert data["environment"]["SPYRE_CODEGEN_CORES"] == "8"


def test_missing_compiler_is_part_of_the_report(capsys, monkeypatch) -> None:
    monkeypatch.setenv("SPYRE_BUILD_CXX", "no-such-compiler")
    assert main(["env"]) == 0
    assert "no C++ compiler: 'no-such-compiler'" in capsys.readouterr().out


def test_starts_without_torch() -> None:
    command = [
        sys.executable,
        "-X",
        "importtime",
        "-m",
        "spyre_inductor.cli",
        "cache",
        "path",
    ]
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "spyre_inductor.cli.cache" in imported
    assert not imported & {"torch", "jinja2", "sympy", "numpy"}
