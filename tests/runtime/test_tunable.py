"""torch.spyre.tunable: products are measured, recorded, written, read back, and stay equal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from torch_spyre import _C
from torch_spyre import tunable as own_module

tunable = torch.spyre.tunable

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64]
SHAPES = [(64, 48, 80), (1, 128, 96), (200, 1, 64), (8, 8, 512), (160, 160, 160)]


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path) -> Iterator[None]:
    """Short measurements into a file of the test; everything off afterwards."""
    before = dict(_C.tunable_settings())
    tunable.set_filename(str(tmp_path / "results.csv"))
    tunable.set_max_tuning_duration(2)
    tunable.set_max_tuning_iterations(3)
    tunable.set_rotating_buffer_size(0)
    yield
    torch.spyre.synchronize()
    tunable.enable(False)
    for name in ("tuning", "record_untuned", "write_results", "max_tuning_ms"):
        _C.tunable_set(name, before[name])
    for name in ("max_tuning_iterations", "untuned_filename", "filename"):
        _C.tunable_set(name, before[name])
    _C.tunable_set("rotating_bytes", -1)
    _C.tunable_set("check_numerics", True)


def operand(
    rows: int, columns: int, dtype: torch.dtype, transposed: bool
) -> torch.Tensor:
    shape = (columns, rows) if transposed else (rows, columns)
    matrix = torch.randn(shape, dtype=torch.complex128).real.to(dtype).contiguous()
    return matrix.t() if transposed else matrix


def names() -> set[tuple[str, str]]:
    return {row[:2] for row in tunable.get_results()}


def new_results(call: Any) -> list[tuple[str, str, str, float]]:
    before = names()
    call()
    return [row for row in tunable.get_results() if row[:2] not in before]


def test_every_name_of_cuda_is_there() -> None:
    import torch.cuda.tunable

    assert set(torch.cuda.tunable.__all__) <= set(tunable.__all__)
    assert sys.modules["torch.spyre.tunable"] is own_module


def test_defaults_and_round_trip_of_settings() -> None:
    assert not tunable.is_enabled()
    assert tunable.tuning_is_enabled() and not tunable.record_untuned_is_enabled()
    tunable.set_max_tuning_duration(-4)
    assert tunable.get_max_tuning_duration() == 0
    tunable.set_max_tuning_iterations(7)
    assert tunable.get_max_tuning_iterations() == 7
    tunable.set_rotating_buffer_size(3)
    assert tunable.get_rotating_buffer_size() == 3 * 1024
    tunable.set_rotating_buffer_size(-1)
    assert tunable.get_rotating_buffer_size() >= 0
    tunable.set_filename("some.csv", insert_device_ordinal=True)
    assert tunable.get_filename() == f"some{torch.spyre.current_device()}.csv"


@pytest.mark.parametrize(
    "call",
    [
        lambda: tunable.enable(1),
        lambda: tunable.tuning_enable("yes"),
        lambda: tunable.set_max_tuning_duration(1.5),
        lambda: tunable.set_max_tuning_iterations(True),
        lambda: tunable.set_filename(3),
        lambda: tunable.set_numerical_check_tolerances(1),
    ],
)
def test_wrong_types(call: Any) -> None:
    with pytest.raises(TypeError, match="expects"):
        call()


def test_off_records_nothing() -> None:
    before = names()
    a = torch.randn(37, 41, device="spyre")
    torch.mm(a, a.t())
    assert names() == before


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
def test_every_solution_equals_the_cpu(dtype: torch.dtype, layout: str) -> None:
    """Each solution in turn, by a results file that names it, for mm, addmm, bmm and baddbmm."""
    tunable.enable()
    tunable.set_numerical_check_tolerances(False)
    m, n, k = 24, 16, 70
    a = operand(m, k, dtype, layout[0] == "T")
    b = operand(k, n, dtype, layout[1] == "T")
    bias, matrix = operand(1, n, dtype, False)[0], operand(m, n, dtype, False)
    batch = [torch.stack([x, x * 0.5, -x]) for x in (a.contiguous(), b.contiguous())]
    if layout[0] == "T":
        batch[0] = batch[0].mT.contiguous().mT
    if layout[1] == "T":
        batch[1] = batch[1].mT.contiguous().mT
    third = torch.stack([matrix, matrix, matrix])
    d = [x.to("spyre") for x in (a, b, bias, matrix, *batch, third)]
    calls = {
        "mm": (lambda a, b, *_: torch.mm(a, b)),
        "bias": (lambda a, b, v, *_: torch.addmm(v, a, b)),
        "addmm": (lambda a, b, _, c, *__: torch.addmm(c, a, b, beta=0.5, alpha=2)),
        "in place": (lambda a, b, _, c, *__: c.clone().addmm_(a, b, beta=0.5)),
        "no beta": (
            lambda a, b, _, c, *__: torch.addmm(c * float("nan"), a, b, beta=0)
        ),
        "bmm": (lambda *x: torch.bmm(x[4], x[5])),
        "baddbmm": (lambda *x: torch.baddbmm(x[6], x[4], x[5], beta=0.5, alpha=2)),
        "baddbmm bias": (lambda *x: torch.baddbmm(x[2], x[4], x[5])),
    }
    host = (a, b, bias, matrix, *batch, third)
    tolerance = {torch.float16: 2e-2, torch.bfloat16: 1e-1}.get(dtype)
    close = {} if tolerance is None else {"rtol": tolerance, "atol": tolerance}
    tried = set()
    before = names()
    for name, call in calls.items():
        expected = call(*host)
        call(*d)
        keys = names() - before
        for solution in (
            "Default OneThread SplitM SplitN SplitK SplitBatch EachMatrix OneDnn PackA PackB Widen"
        ).split():
            if not select(solution, keys):
                continue
            tried.add(solution)
            torch.testing.assert_close(
                call(*d).cpu(),
                expected,
                **close,
                msg=lambda t, s=(name, solution): f"{s}: {t}",
            )
    wanted = {"Default", "EachMatrix"}
    if torch.get_num_threads() > 1:
        wanted |= {"OneThread", "SplitM", "SplitN", "SplitBatch"}
    if dtype == torch.float32:
        wanted.add("OneDnn")
    assert wanted <= tried


def select(solution: str, keys: set[tuple[str, str]]) -> bool:
    """Makes `solution` the result of those products it applies to; False when of none."""
    path = Path(tunable.get_filename()).with_name("selected.csv")
    header = "".join(
        f"Validator,{name},{value}\n" for name, value in tunable.get_validators()
    )
    chosen = False
    for operator, parameters in keys:
        path.write_text(f"{header}{operator},{parameters},{solution},1\n")
        chosen |= _C.tunable_read_file(str(path)) == ""
    return chosen


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_tuned_results_are_close(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    tunable.enable()
    for dtype in (torch.float32, torch.float16):
        a, b = operand(m, k, dtype, False), operand(k, n, dtype, True)
        expected = a @ b
        da, db = a.to("spyre"), b.to("spyre")
        rows = new_results(lambda da=da, db=db: da @ db)
        assert len(rows) <= 1  # none when an earlier test tuned it
        torch.testing.assert_close(da.mm(db).cpu(), expected, rtol=2e-2, atol=2e-2)


def test_names_are_cudas() -> None:
    tunable.enable()
    a = torch.randn(33, 35, device="spyre")
    b = torch.randn(37, 35, device="spyre")
    (row,) = new_results(lambda: a.mm(b.t()))
    assert row[:2] == ("GemmTunableOp_float_TN", "tn_37_33_35_ld_35_35_37")
    assert row[3] > 0
    (row,) = new_results(
        lambda: torch.nn.functional.linear(a, b, torch.ones(37, device="spyre"))
    )
    assert row[0] == "GemmAndBiasTunableOp_float_TN"
    c = torch.randn(3, 35, 33, device="spyre").double()
    (row,) = new_results(lambda: torch.bmm(c.mT, c))
    assert row[:2] == (
        "GemmStridedBatchedTunableOp_double_NT",
        "nt_33_33_35_B_3_ld_33_33_33",
    )


def test_a_product_is_measured_once_and_written() -> None:
    tunable.enable()
    a = torch.randn(51, 52, device="spyre")
    assert len(new_results(lambda: a @ a.t())) == 1
    assert not new_results(lambda: a @ a.t())
    text = Path(tunable.get_filename()).read_text()
    for name, value in tunable.get_validators():
        assert f"Validator,{name},{value}\n" in text
    assert text.count("tn_51_51_52_ld_52_52_51") == 1


def test_large_products_are_tuned_on_the_executor_and_out_forms_too() -> None:
    tunable.enable()
    a = torch.randn(260, 250, device="spyre")
    out = torch.empty(260, 260, device="spyre")
    expected = (a.cpu() @ a.cpu().t()).numpy()
    (row,) = new_results(lambda: torch.mm(a, a.t(), out=out))
    assert row[1] == "tn_260_260_250_ld_250_250_260"
    torch.testing.assert_close(out.cpu().numpy(), expected, rtol=1e-4, atol=1e-3)


def test_captured_products_are_tuned_at_the_first_replay() -> None:
    tunable.enable()
    a = torch.randn(43, 44, device="spyre")
    graph = torch.spyre.SpyreGraph()
    with torch.spyre.graph(graph):
        out = a @ a.t()
    assert not new_results(lambda: None)
    assert len(new_results(graph.replay)) == 1
    torch.testing.assert_close(out.cpu(), a.cpu() @ a.cpu().t())


def test_a_solution_whose_result_differs_is_not_taken() -> None:
    """Nothing but bit-equality is accepted: what sums in another order is out."""
    tunable.enable()
    tunable.set_numerical_check_tolerances(True, 0.0, 0.0)
    try:
        a = torch.randn(16, 3000).half()
        card = a.to("spyre")
        assert len(new_results(lambda: card @ card.t())) == 1
        assert torch.equal((card @ card.t()).cpu(), a @ a.t())
    finally:
        _C.tunable_set("tolerances", None)
