"""Tunes the products named in files, for torch.spyre.tunable.

A product is run once on random operands of the sizes and layout that its line gives; running it
tunes it (tunable.py).
"""

from __future__ import annotations

import concurrent.futures
import glob
import multiprocessing
import os
import re
import shutil
import warnings
from collections.abc import Iterable

import torch

from torch_spyre import _C, tunable

_DTYPES = {
    "float": torch.float32,
    "double": torch.float64,
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "c10::complex<float>": torch.complex64,
    "c10::complex<double>": torch.complex128,
}
_LINE = re.compile(
    r"(?P<operator>Gemm\w*?TunableOp)_(?P<dtype>[^_,]+)_(?P<layout>[NT]{2}),[nt]{2}"
    r"_(?P<n>\d+)_(?P<m>\d+)_(?P<k>\d+)(?:_B_(?P<batch>\d+))?"
    r"_ld_(?P<ldb>\d+)_(?P<lda>\d+)_(?P<ldc>\d+)(?:,|$)"
)


def _matrix(
    rows: int, columns: int, ld: int, transposed: bool, batch: int, like: torch.Tensor
) -> torch.Tensor:
    """Random [batch, rows, columns], or [rows, columns] for batch 0, stored with `ld`."""
    lines, width = (columns, rows) if transposed else (rows, columns)
    if ld < width:
        raise ValueError(f"a leading dimension of {ld} is less than {width}")
    shape = [batch, lines, ld] if batch else [lines, ld]
    real = torch.float64 if like.dtype == torch.complex128 else torch.float32
    stored = torch.randn(shape, dtype=real, device=like.device).to(like.dtype)
    matrix = stored[..., :width]
    return matrix.mT if transposed else matrix


def _run(line: str, device: torch.device) -> None:
    """Runs the product of one line; ValueError when it names none."""
    match = _LINE.match(line)
    if match is None or match["dtype"] not in _DTYPES:
        raise ValueError("no product that can be tuned")
    sizes = {
        k: int(v or 0) for k, v in match.groupdict().items() if (v or "0").isdigit()
    }
    batch = sizes["batch"]
    if (match["operator"] == "GemmStridedBatchedTunableOp") != bool(batch):
        raise ValueError("only a batched product has a batch size")
    m, n, k = sizes["m"], sizes["n"], sizes["k"]
    like = torch.empty(0, dtype=_DTYPES[match["dtype"]], device=device)
    a = _matrix(m, k, sizes["lda"], match["layout"][1] == "T", batch, like)
    b = _matrix(k, n, sizes["ldb"], match["layout"][0] == "T", batch, like)
    out = _matrix(m, n, sizes["ldc"], False, batch, like)
    if match["operator"] == "GemmAndBiasTunableOp":
        torch.addmm(torch.zeros(n, dtype=like.dtype, device=device), a, b, out=out)
    elif batch:
        torch.bmm(a, b, out=out)
    else:
        torch.mm(a, b, out=out)


def tune_lines(lines: Iterable[str], device: torch.device) -> None:
    """Tunes each product; warns for a line that names none."""
    with torch.no_grad():
        for line in lines:
            if not line.strip() or line.startswith("Validator"):
                continue
            try:
                _run(line.strip(), device)
            except ValueError as error:
                warnings.warn(f"skipped '{line.strip()}': {error}", stacklevel=3)
        torch.accelerator.synchronize(device)


def _tune_share(lines: list[str], card: int, filename: str) -> None:
    """A process of its own: tunes `lines` on `card` and writes `filename`."""
    _C.exchange_device(card)
    tunable.set_filename(filename)
    tunable.enable(True)
    tune_lines(lines, torch.device("spyre", card))
    tunable.write_file(filename)


def _results_of(filename: str) -> tuple[list[str], list[str]]:
    with open(filename, encoding="utf-8") as file:
        lines = file.readlines()
    validators = [line for line in lines if line.startswith("Validator")]
    return validators, lines[len(validators) :]


def tune_files(filename_pattern: str, num_gpus: int) -> None:
    """Shares the products of all matching files over cards, one process after another.

    Emulated cards share the host's cores: two processes that measure beside each other would
    measure each other.

    Raises:
        ValueError: `num_gpus` is not 1 to the number of cards, or no file has a product.
    """
    if not 1 <= num_gpus <= _C.device_count():
        raise ValueError(
            f"num_gpus must be from 1 to {_C.device_count()}, got {num_gpus}"
        )
    products: dict[str, None] = {}
    for filename in sorted(glob.glob(filename_pattern)):
        with open(filename, encoding="utf-8") as file:
            products.update(
                dict.fromkeys(line for line in file if line.startswith("Gemm"))
            )
    if not products:
        raise ValueError(
            f"no file that matches '{filename_pattern}' has a product to tune"
        )
    base = tunable.get_filename() or "tunableop_results0.csv"
    stem, suffix = os.path.splitext(base)
    stem = stem.removesuffix(str(_C.current_device()))
    validators: list[str] = []
    results: dict[str, None] = {}
    context = multiprocessing.get_context("spawn")
    for card in range(num_gpus):
        target = f"{stem}{card}{suffix}"
        share = list(products)[card::num_gpus]
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
            pool.submit(_tune_share, share, card, target).result()
        validators, found = _results_of(target)
        results.update(dict.fromkeys(found))
    whole = f"{stem}_full0{suffix}"
    with open(whole, "w", encoding="utf-8") as file:
        file.writelines([*validators, *results])
    for card in range(1, num_gpus):
        shutil.copy(whole, f"{stem}_full{card}{suffix}")
