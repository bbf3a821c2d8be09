"""PyTorch's own operator samples on the card: a small part always, all of them with --sweep."""

from __future__ import annotations

import pytest
import torch

from tests.support.op_samples import check_backward, check_forward, operators

# One or two of each family: arithmetic, shapes, reductions, indexing, linear algebra, FFT,
# convolution, normalisation, losses, random, sparse, sorting.
REPRESENTATIVES = (
    r"^(add|sub|mul|div\.no_rounding_mode|pow|where|clamp|cat|stack|index_select|gather|"
    r"scatter_add|index_put|masked_fill|take_along_dim|sum|mean|var|amax|argmax|cumsum|softmax|"
    r"log_softmax|sort|topk|unique|searchsorted|mm|addmm|bmm|baddbmm|matmul|einsum|linalg\.inv|"
    r"linalg\.svd|linalg\.qr|fft\.fft|fft\.irfft|nn\.functional\.(conv2d|conv_transpose2d|"
    r"layer_norm|batch_norm|group_norm|gelu|silu|relu|embedding|cross_entropy|mse_loss|"
    r"interpolate\.bilinear|max_pool2d|avg_pool2d|scaled_dot_product_attention|pad\.constant)|"
    r"bernoulli|normal|randn|to_sparse|view_as_complex|conj|as_strided|expand|unfold|roll|tril|"
    r"complex|nonzero|masked_select|mode|to|sparse\.mm\.reduce|sparse\.sampled_addmm)$"
)
EXPECTED_FAILURES: set[str] = set()
LOW_PRECISION = [torch.float16, torch.bfloat16, torch.int64, torch.bool]
WIDE = [torch.complex64, torch.float64]


def failures_of(pattern: str, dtypes: list[torch.dtype], backward: bool) -> list[str]:
    """What differs from the CPU, one line per entry and dtype."""
    check = check_backward if backward else check_forward
    failed, compared = [], 0
    for op in operators(pattern):
        for dtype in dtypes:
            supported = (
                op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
                if backward
                else dtype in op.supported_dtypes("cpu")
            )
            if not supported:
                continue
            try:
                compared += check(op, dtype) > 0
            except Exception as error:
                text = str(error).strip().splitlines() or [""]
                failed.append(
                    f"{op.full_name} {dtype}: {type(error).__name__} {text[0]}"
                )
    assert compared > 0, "nothing was compared"
    return [line for line in failed if line.split()[0] not in EXPECTED_FAILURES]


@pytest.mark.filterwarnings("ignore")
def test_representative_operators_forward() -> None:
    assert not failures_of(
        REPRESENTATIVES, [torch.float32, torch.bfloat16], backward=False
    )


@pytest.mark.filterwarnings("ignore")
def test_representative_operators_backward() -> None:
    assert not failures_of(REPRESENTATIVES, [torch.float32], backward=True)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("letter", list("abcdefghijklmnopqrstuvwxyz_"))
def test_every_operator_forward(letter: str) -> None:
    dtypes = [torch.float32, *LOW_PRECISION, *WIDE]
    if any(operators(f"^{letter}")):
        assert not failures_of(f"^{letter}", dtypes, backward=False)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("letter", list("abcdefghijklmnopqrstuvwxyz_"))
def test_every_operator_backward(letter: str) -> None:
    differentiable = any(
        torch.float32 in op.supported_backward_dtypes("cpu")
        for op in operators(f"^{letter}")
    )
    if differentiable:
        assert not failures_of(f"^{letter}", [torch.float32], backward=True)
