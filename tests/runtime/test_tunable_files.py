"""Files and environment of torch.spyre.tunable."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.runtime.test_tunable import new_results, own_state  # noqa: F401
from torch_spyre import _C

tunable = torch.spyre.tunable


def test_file_round_trip(tmp_path: Path) -> None:
    tunable.enable()
    a = torch.randn(29, 28, device="spyre")
    (row,) = new_results(lambda: a @ a.t())
    written = tmp_path / "all.csv"
    assert tunable.write_file(str(written))
    assert tunable.read_file(str(written))
    assert row in [
        (*r[:3], pytest.approx(r[3], rel=1e-4)) for r in tunable.get_results()
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: t.replace("Validator,PT_VERSION,2", "Validator,PT_VERSION,1"),
            "PT_VERSION '1",
        ),
        (
            lambda t: t.replace("Validator,CPU_MODEL", "Validator,GPU"),
            "no validator CPU_MODEL",
        ),
        (lambda t: t + "Validator,FUTURE,1\n", "validator FUTURE"),
        (lambda t: t + "GemmTunableOp_float_NN,nn_1_2,Default,1\n", "no such product"),
        (
            lambda t: t + "GemmTunableOp_float_NN,nn_1_2_3_ld_1_3_1,Magic,1\n",
            "solution: Magic",
        ),
        (
            lambda t: t + "GemmTunableOp_float_NN,nn_1_2_3_ld_1_3_1,Widen,1\n",
            "does not apply",
        ),
        (
            lambda t: t + "GemmTunableOp_float_NN,nn_1_2_3_ld_1_3_1,Default,x\n",
            "not a time",
        ),
        (lambda t: t + "rubbish\n", "line"),
        (lambda t: "", "no validator"),
    ],
)
def test_other_files_are_refused_as_a_whole(
    change: Any, message: str, tmp_path: Path
) -> None:
    before = tunable.get_results()
    path = tmp_path / "other.csv"
    assert tunable.write_file(str(path))
    text = path.read_text() + "GemmTunableOp_float_NN,nn_7_2_3_ld_7_3_7,Default,1\n"
    path.write_text(change(text))
    with pytest.warns(UserWarning, match=message):
        assert not tunable.read_file(str(path))
    assert tunable.get_results() == before


def test_files_that_cannot_be_opened() -> None:
    with pytest.warns(UserWarning, match="No such file"):
        assert not tunable.read_file("/nowhere/results.csv")
    with pytest.warns(UserWarning, match="cannot write"):
        assert not tunable.write_file("/nowhere/results.csv")


def test_untuned_products_are_recorded_and_tuned_later(tmp_path: Path) -> None:
    tunable.enable()
    tunable.tuning_enable(False)
    tunable.record_untuned_enable()
    untuned = tmp_path / "untuned.csv"
    _C.tunable_set("untuned_filename", str(untuned))
    a = torch.randn(19, 23, device="spyre")
    batch = torch.randn(2, 19, 23, device="spyre", dtype=torch.bfloat16)
    bias = torch.ones(19, device="spyre")

    def products() -> None:
        for _ in range(2):
            a @ a.t()
            torch.bmm(batch, batch.mT)
            torch.nn.functional.linear(a, a, bias)
            torch.spyre.synchronize()

    assert not new_results(products)
    lines = untuned.read_text().splitlines()
    assert len(lines) == len(set(lines)) == 3
    tunable.record_untuned_enable(False)
    tunable.tuning_enable()
    with untuned.open("a") as file:
        file.write("GemmWrong,x\n")
    with pytest.warns(UserWarning, match="skipped 'GemmWrong,x'"):
        rows = new_results(lambda: tunable.tune_gemm_in_file(str(untuned)))
    assert {f"{row[0]},{row[1]}" for row in rows} == set(lines)


def test_offline_tuning_needs_both_switches() -> None:
    with pytest.raises(AssertionError, match="not enabled"):
        tunable.tune_gemm_in_file("untuned.csv")
    with pytest.raises(ValueError, match="num_gpus must be from 1"):
        tunable.mgpu_tune_gemm_in_file("untuned?.csv", 99)


ENVIRONMENT = """
import torch
t = torch.spyre.tunable
assert t.is_enabled() and t.get_max_tuning_iterations() == 2 and t.get_filename() == "mine0.csv"
t.set_max_tuning_iterations(50); t.enable(False); t.set_filename("x.csv")
assert t.is_enabled() and t.get_max_tuning_iterations() == 2 and t.get_filename() == "mine0.csv"
a = torch.randn(300, 200, device="spyre")
(a @ a.t()).cpu()
"""


def run(code: str, where: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=where,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_environment_wins_and_results_survive_the_process(tmp_path: Path) -> None:
    variables = {
        "SPYRE_TUNABLEOP_ENABLED": "1",
        "SPYRE_TUNABLEOP_FILENAME": "mine%d.csv",
        "SPYRE_TUNABLEOP_MAX_TUNING_ITERATIONS": "2",
        "SPYRE_TUNABLEOP_MAX_TUNING_DURATION_MS": "2",
        "SPYRE_TUNABLEOP_VERBOSE": "1",
    }
    first = run(ENVIRONMENT, tmp_path, **variables)
    assert first.returncode == 0, first.stderr
    assert "tn_300_300_200_ld_200_200_300,Default" in first.stderr
    again = run(
        ENVIRONMENT, tmp_path, **variables
    )  # reads the file: nothing is measured
    assert again.returncode == 0 and "Default" not in again.stderr, again.stderr
    file = tmp_path / "mine0.csv"
    text = file.read_text()
    file.write_text(text.replace("Validator,THREADS,", "Validator,THREADS,9"))
    other = run(ENVIRONMENT, tmp_path, **variables)
    assert other.returncode == 0, other.stderr
    assert "not used" in other.stderr and "THREADS" in other.stderr
    assert "Validator,THREADS,9" in file.read_text()  # another machine's results stay


def test_invalid_environment_names_the_variable(tmp_path: Path) -> None:
    code = "import torch; torch.spyre.tunable.get_filename()"
    wrong = run(code, tmp_path, SPYRE_TUNABLEOP_MAX_TUNING_ITERATIONS="many")
    assert wrong.returncode != 0
    assert "SPYRE_TUNABLEOP_MAX_TUNING_ITERATIONS='many' is not valid" in wrong.stderr


SHARED = """
import torch
if __name__ == "__main__":
    t = torch.spyre.tunable
    t.set_filename("shared0.csv")
    t.mgpu_tune_gemm_in_file("untuned?.csv", 2)
"""


@pytest.mark.slow
def test_products_are_shared_out_over_cards(tmp_path: Path) -> None:
    (tmp_path / "untuned0.csv").write_text(
        "GemmTunableOp_float_NN,nn_5_6_7_ld_5_7_5\nGemmTunableOp_float_NN,nn_8_6_7_ld_8_7_8\n"
    )
    script = tmp_path / "main.py"
    script.write_text(SHARED)
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for name in ("shared_full0.csv", "shared_full1.csv"):
        text = (tmp_path / name).read_text()
        assert (
            "nn_5_6_7_ld" in text
            and "nn_8_6_7_ld" in text
            and "Validator,THREADS" in text
        )
