"""Autocast casts what CUDA casts: torch's own lists of operators for CUDA, run on spyre."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.testing._internal.autocast_test_lists import AutocastTestLists

LISTS = AutocastTestLists(torch.device("spyre"))
# The lists' names for kernels of cuDNN and CUDA, which other devices do not have.
CUDA_KERNELS = {
    "_convolution",
    "cudnn_convolution",
    "cudnn_convolution_transpose",
    "_thnn_fused_lstm_cell",
    "_thnn_fused_gru_cell",
}
CASES = {
    "torch_fp16": (torch, torch.float16),
    "torch_fp32": (torch, torch.float32),
    "methods_fp16": (torch.Tensor, torch.float16),
    "methods_fp32": (torch.Tensor, torch.float32),
    "linalg_fp16": (torch._C._linalg, torch.float16),
    "nn_fp16": (torch._C._nn, torch.float16),
    "nn_fp32": (torch._C._nn, torch.float32),
}


def cases() -> Iterator[Any]:
    for name, (module, dtype) in CASES.items():
        for entry in getattr(LISTS, name):
            known = entry[0] not in CUDA_KERNELS and hasattr(module, entry[0])
            if known and isinstance(entry[1], tuple):  # einsum's entry is malformed
                yield pytest.param(module, entry, dtype, id=f"{name}-{entry[0]}")


def run(module: Any, entry: tuple[Any, ...]) -> Any:
    keywords = entry[2] if len(entry) > 2 else {}
    return getattr(module, entry[0])(*entry[1], **keywords)


@pytest.mark.parametrize(("module", "entry", "dtype"), list(cases()))
def test_result_has_the_dtype_of_cudas_list(
    module: Any, entry: tuple[Any, ...], dtype: torch.dtype
) -> None:
    with torch.autocast("spyre", dtype=torch.float16):
        result = run(module, entry)
    first = result[0] if isinstance(result, tuple) else result
    assert isinstance(first, torch.Tensor) and first.dtype == dtype


def test_operands_of_two_dtypes_are_promoted() -> None:
    for name, arguments, *keywords in LISTS.torch_need_autocast_promote:
        with torch.autocast("spyre", dtype=torch.float16):
            result = getattr(torch, name)(
                *arguments, **(keywords[0] if keywords else {})
            )
        assert result.dtype == torch.float32, name


def test_promotion_of_other_operators_is_left_alone() -> None:
    for module, entries in (
        (torch, LISTS.torch_expect_builtin_promote),
        (torch.Tensor, LISTS.methods_expect_builtin_promote),
    ):
        for name, arguments, dtype in entries:
            with torch.autocast("spyre", dtype=torch.float16):
                result = getattr(module, name)(*arguments)
            if isinstance(result, torch.Tensor):  # torch.equal gives a bool
                assert result.dtype == dtype, name


def test_the_lists_are_long() -> None:
    assert len(list(cases())) > 70


def test_nested_and_disabled_regions() -> None:
    x = torch.ones(2, 2, device="spyre")
    with torch.autocast("spyre"):
        with torch.autocast("spyre", enabled=False):
            assert (x @ x).dtype == torch.float32
        with torch.autocast("spyre", dtype=torch.bfloat16):
            assert (x @ x).dtype == torch.bfloat16
        assert (x @ x).dtype == torch.float16


def test_a_dtype_that_cannot_be_cast_to_warns_and_disables() -> None:
    x = torch.ones(2, 2, device="spyre")
    with (
        pytest.warns(UserWarning, match="only supports dtypes of"),
        torch.autocast("spyre", dtype=torch.float64),
    ):
        assert (x @ x).dtype == torch.float32
