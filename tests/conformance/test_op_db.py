"""A small part of the sweep in every test run; `make conformance` runs all of it (sweep.py)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tests.conformance.exceptions import EXCEPTIONS, is_expected
from tests.conformance.sweep import cases, failures, run_case

# One or two of each family: arithmetic, shapes, reductions, indexing, linear algebra, FFT,
# convolution, normalisation, losses, random, sparse, sorting.
REPRESENTATIVES = (
    r"^(add|sub|div\.no_rounding_mode|pow|where|clamp|cat|stack|index_select|gather|"
    r"scatter_add|index_put|masked_fill|take_along_dim|sum|mean|var|amax|argmax|cumsum|softmax|"
    r"log_softmax|sort|topk|unique|searchsorted|mm|addmm|bmm|baddbmm|matmul|einsum|linalg\.inv|"
    r"linalg\.svd|linalg\.qr|fft\.fft|fft\.irfft|nn\.functional\.(conv2d|conv_transpose2d|"
    r"layer_norm|batch_norm|group_norm|gelu|silu|relu|embedding|cross_entropy|mse_loss|"
    r"interpolate_bilinear|avg_pool2d|scaled_dot_product_attention|pad_constant)|"
    r"bernoulli|normal|randn|to_sparse|view_as_complex|conj|as_strided|expand|unfold|roll|tril|"
    r"complex|nonzero|masked_select|mode|to|sparse\.mm\.reduce|sparse\.sampled_addmm)$"
)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """As in the sweep's workers: the CPU's sums add up in one order."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("suite", "dtype", "only"),
    [
        ("ops", "float32", REPRESENTATIVES),
        ("ops", "bfloat16", REPRESENTATIVES),
        ("modules", "float32", r"LSTM|Conv2d$|BatchNorm2d|MultiheadAttention"),
        ("modules", "bfloat16", r"LSTM|GRU|RNN"),
        ("modules", "float16", r"LSTM|GRU|RNN"),
        ("optimizers", "float32", r"^(Adam|SGD|SparseAdam)$"),
    ],
)
def test_representative_entries(suite: str, dtype: str, only: str) -> None:
    keys = cases([suite], [dtype], only)
    results = {key: run_case(key, samples=1) for key in keys}
    assert any("passed" in outcome.values() for outcome in results.values())
    found = {k: v for k, v in failures(results).items() if not is_expected(*k)}
    assert not found


def test_at_most_five_exceptions_each_with_a_reason() -> None:
    assert len(EXCEPTIONS) <= 5
    assert all(reason.strip() for reason in EXCEPTIONS.values())


@pytest.mark.usefixtures("one_thread")
@pytest.mark.filterwarnings("ignore")
def test_chunked_cross_entropy_differs_by_pytorchs_tables_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The exception's reason: with the CPU's entries for the card, nothing differs."""
    from torch.nn.modules import linear_cross_entropy_options as options

    keys = cases(["ops"], ["float16"], r"linear_cross_entropy\.chunked")
    modes = ("forward", "queued", "other card", "backward")
    found = failures({key: run_case(key, samples=6) for key in keys})
    assert {key for key, _ in found} == set(keys)
    kind = options.LinearCrossEntropyOptions
    for (device, dtype), entry in list(options._AUTO_DEFAULTS.items()):
        if device == "cpu":
            monkeypatch.setitem(options._AUTO_DEFAULTS, ("spyre", dtype), entry)
    monkeypatch.setattr(
        kind, "_resolve_auto_acc_dtype", staticmethod(lambda *_: torch.float32)
    )
    results = {key: run_case(key, samples=6) for key in keys}
    assert all(results[key][mode] == "passed" for key in keys for mode in modes)
