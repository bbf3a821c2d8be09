"""optim_db of the installed torch on the card: five steps of every configuration of an optimizer.

Modes: loop (one tensor at a time), foreach, fused, capturable (steps counted on the card), both
looped and foreach, and sparse (sparse gradients).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from functools import cache
from typing import Any
from unittest import mock

import torch

from tests.conformance.comparison import SPYRE, check_equal
from tests.conformance.operator_cases import NoResult

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.float64)
MODES = ("loop", "foreach", "fused", "capturable", "sparse")
SHAPES = ((3, 5), (7,), (2, 3, 4), ())
STEPS = 5


@cache
def optimizers() -> dict[str, Any]:
    """OptimizerInfo entries by name."""
    from torch.testing._internal.common_optimizers import optim_db

    return {info.name: info for info in optim_db}


def has_dtype(info: Any, dtype: torch.dtype) -> bool:
    return info.supports_complex or not dtype.is_complex


def run_mode(name: str, dtype: torch.dtype, mode: str, limit: int) -> int:
    """As operator_cases.run_mode."""
    info = optimizers()[name]
    compared = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for ours, theirs in configurations(info, mode):
            try:
                with cpu_takes_capturable():
                    expected = train(info, theirs, dtype, torch.device("cpu"), mode)
            except Exception:  # the CPU cannot do it
                continue
            result = train(info, ours, dtype, SPYRE, mode)
            check_equal(result, expected)
            compared += 1
    if compared == 0:
        raise NoResult
    return compared


def configurations(info: Any, mode: str) -> Iterator[tuple[dict, dict]]:
    """Arguments for the card and for the CPU."""
    if mode in ("foreach", "fused") and mode not in info.supported_impls:
        return
    if (mode == "capturable" and not info.has_capturable_arg) or (
        mode == "sparse"
        and not (info.supports_sparse or info.only_supports_sparse_grads)
    ):
        return
    if mode != "sparse" and info.only_supports_sparse_grads:
        return
    for given in info.optim_inputs_func("cpu"):
        arguments = {k: v for k, v in given.kwargs.items() if k != "capturable"}
        for switches in switch_settings(info, mode):
            yield (
                {**deepcopy(arguments), **switches},
                {**deepcopy(arguments), **switches},
            )


def switch_settings(info: Any, mode: str) -> list[dict[str, bool]]:
    """Values of the arguments that choose an implementation."""
    choices = [key for key in ("foreach", "fused") if key in info.supported_impls]
    off = dict.fromkeys(choices, False)
    if mode != "capturable":
        return [{**off, mode: True} if mode in choices else off]
    settings = [{**off, "capturable": True}]
    if "foreach" in choices:
        settings.append({**off, "foreach": True, "capturable": True})
    return settings


@contextmanager
def cpu_takes_capturable() -> Iterator[None]:
    """torch.optim refuses capturable on the CPU, where there is nothing to capture; the
    arithmetic, which differs from the plain form's, works."""
    name = "_get_capturable_supported_devices"
    with ExitStack() as patches:
        for path, module in list(sys.modules.items()):
            if path.startswith("torch.optim.") and hasattr(module, name):
                patches.enter_context(
                    mock.patch.object(module, name, lambda **_: ["cpu"])
                )
        yield


def train(
    info: Any, arguments: dict, dtype: torch.dtype, device: torch.device, mode: str
) -> list[Any]:
    """Parameters and state after STEPS steps with fixed gradients."""
    generator = torch.Generator().manual_seed(0)

    def random(shape: tuple[int, ...]) -> torch.Tensor:
        return torch.randn(shape, generator=generator).to(dtype)

    shapes = SHAPES[:1] if mode == "sparse" else SHAPES
    if info.name == "Muon":  # matrices only
        shapes = ((3, 5), (4, 2))
    parameters = [torch.nn.Parameter(random(shape).to(device)) for shape in shapes]
    optimizer = info.optim_cls(parameters, **arguments)
    for _ in range(STEPS):
        gradients = [random(shape) for shape in shapes]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            if mode == "sparse":
                gradient = torch.where(gradient.real > 0, gradient, 0).to_sparse()
            parameter.grad = gradient.to(device)
        optimizer.step(
            (lambda: closure(parameters)) if info.step_requires_closure else None
        )
    state = [
        value.to(device)  # steps and products of momenta may live on the host
        for parameter in parameters
        for _, value in sorted(optimizer.state[parameter].items())
        if isinstance(value, torch.Tensor)
    ]
    return [*[p.detach() for p in parameters], *state]


def closure(parameters: list[torch.Tensor]) -> torch.Tensor:
    """A bowl: its gradient is the parameter."""
    with torch.enable_grad():
        loss = sum(p.abs().square().sum() for p in parameters)
    for parameter, gradient in zip(
        parameters, torch.autograd.grad(loss, parameters), strict=True
    ):
        parameter.grad = gradient
    return loss.detach()
