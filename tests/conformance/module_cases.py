"""module_db of the installed torch on the card: forward, backward, training, evaluation."""

from __future__ import annotations

import copy
import warnings
from functools import cache
from typing import Any

import torch

from tests.conformance.comparison import (
    check_equal,
    copies,
    gradients,
    tensors,
    to_card,
)
from tests.conformance.operator_cases import NoResult, seed

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
MODES = ("forward train", "forward eval", "backward train", "backward eval")


@cache
def modules() -> dict[str, Any]:
    """ModuleInfo entries by name."""
    from torch.testing._internal.common_modules import module_db

    return {info.name: info for info in module_db}


def has_dtype(info: Any, dtype: torch.dtype) -> bool:
    # 16-bit types are left out of module_db because gradcheck cannot use them.
    return dtype in info.dtypes or dtype in (torch.float16, torch.bfloat16)


def run_mode(name: str, dtype: torch.dtype, mode: str, limit: int) -> int:
    """As operator_cases.run_mode."""
    info = modules()[name]
    direction, phase = mode.split()
    grad, training = direction == "backward", phase == "train"
    compared = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seed(0)
        try:
            found = info.module_inputs_func(
                info,
                device="cpu",
                dtype=dtype,
                requires_grad=grad,
                training=training,
            )
        except RuntimeError as error:
            raise NoResult from error
        for sample in found[:limit]:
            compared += compare(info, sample, dtype, training, grad)
    if compared == 0:
        raise NoResult
    return compared


def compare(
    info: Any, sample: Any, dtype: torch.dtype, training: bool, grad: bool
) -> bool:
    made, given = sample.constructor_input, sample.forward_input
    if given is None:
        return False
    seed(0)
    module = info.module_cls(*made.args, **made.kwargs).train(training).to(dtype)
    if info.is_lazy:
        module(*copies(given.args), **copies(given.kwargs))
    twin = copy.deepcopy(module).to("spyre")
    args, kwargs = copies(given.args), copies(given.kwargs)
    for ours, theirs in zip(
        tensors((args, kwargs)), tensors((given.args, given.kwargs)), strict=True
    ):
        ours.requires_grad_(theirs.requires_grad)
    card_args, card_kwargs = to_card(args, grad), to_card(kwargs, grad)
    try:
        expected = run(module, args, kwargs, grad, card=False)
    except Exception:  # the CPU has no result to compare with
        return False
    result = run(twin, card_args, card_kwargs, grad, card=True)
    check_equal(result, expected)
    check_equal(list(twin.buffers()), list(module.buffers()))
    return True


def run(module: Any, args: Any, kwargs: Any, grad: bool, card: bool) -> Any:
    seed(1)
    if not grad:
        with torch.no_grad():
            return module(*args, **kwargs)
    leaves = [*module.parameters(), *tensors((args, kwargs))]
    return gradients(lambda: module(*args, **kwargs), leaves, card)
