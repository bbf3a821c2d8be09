"""Compiles functions on the CPU with this project's front end and runs the rendered kernels.

As interpreted_backend, but plans go through renderer and compiler and are called through the ABI:
tests graph -> plan -> C++ without the device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._inductor.codegen.wrapper import PythonWrapperCodegen

from spyre_inductor.plan.kernel_plan import KernelPlan
from tests.support import interpreted_backend as interpreted
from tests.support.kernels import launch_addresses

_CORES = 3


class RenderedWrapper(interpreted.InterpretedWrapper):
    """Calls `launch_plan` where the real wrapper launches a kernel."""

    @staticmethod
    def create(*args: Any, **kwargs: Any) -> PythonWrapperCodegen:
        return RenderedWrapper()

    def write_header(self) -> None:
        super().write_header()
        line = "from tests.support.rendered_backend import launch_plan as run_plan"
        self.imports.splice(line)


def launch_plan(position: int, *args: Any) -> None:
    """Renders, compiles and runs one plan on CPU tensors, in place."""
    plan = interpreted.plan_at(position)
    addresses = [tensor.data_ptr() for tensor in args[: len(plan.buffers)]]
    scalars = [
        float(value) if scalar.dtype == "float64" else int(value)
        for scalar, value in zip(plan.scalars, args[len(plan.buffers) :])
    ]
    error = launch_addresses(plan, addresses, scalars, _CORES)
    if error.code:
        raise RuntimeError(plan.checks[error.check])


def check_rendered(
    function: Callable[..., Any],
    *inputs: Any,
    rtol: float | None = None,
    atol: float | None = None,
    **compile_options: Any,
) -> list[KernelPlan]:
    """Compiles and runs `function`, compares with eager, and gives the plans."""
    expected = function(*[interpreted.copied(x) for x in inputs])
    with interpreted.interpreted_backend(RenderedWrapper) as plans:
        compiled = torch.compile(function, **compile_options)
        actual = compiled(*[interpreted.copied(x) for x in inputs])
        torch.testing.assert_close(
            actual, expected, equal_nan=True, rtol=rtol, atol=atol
        )
        return list(plans)
