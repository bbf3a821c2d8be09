"""Compiles functions on the CPU with this project's front end and runs the plans in numpy.

Needs neither the device, nor templates, nor a compiler: it tests graph -> plan alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch._inductor import config as inductor_config
from torch._inductor.codegen.common import (
    device_codegens,
    init_backend_registration,
    register_backend_for_device,
)
from torch._inductor.codegen.wrapper import PythonWrapperCodegen
from torch._inductor.utils import fresh_cache

from spyre_inductor.plan.json_codec import from_json, to_json
from spyre_inductor.plan.kernel_plan import KernelGroup, KernelPlan
from spyre_inductor.scheduling import SpyreScheduling
from tests.support.plan_arithmetic import NARROW
from tests.support.plan_interpreter import PlanInterpreter

_plans: list[KernelPlan] = []
_CPU_DTYPES = {"uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64}


class InterpretedWrapper(PythonWrapperCodegen):
    """Calls `run_plan` where the real wrapper launches a kernel."""

    @staticmethod
    def create(*args: Any, **kwargs: Any) -> PythonWrapperCodegen:
        return InterpretedWrapper()

    def write_header(self) -> None:
        super().write_header()
        self.imports.splice("from tests.support.interpreted_backend import run_plan")

    def define_spyre_kernel(self, plan: KernelPlan) -> str:
        round_trip = from_json(to_json(plan))
        assert round_trip == plan, "a plan must survive JSON"
        _plans.append(plan)
        return plan.name

    def generate_spyre_kernel_call(self, plan: KernelPlan, args: Sequence[Any]) -> None:
        # Forward and backward graphs use the same names: the latest plan is meant.
        position = max(i for i, p in enumerate(_plans) if p.name == plan.name)
        arguments = ", ".join(str(arg) for arg in args)
        self.writeline(f"run_plan({position}, {arguments})")

    def define_spyre_group(self, group: KernelGroup) -> KernelGroup:
        return group

    def generate_spyre_group_call(
        self, group: KernelGroup, args: Sequence[Any]
    ) -> None:
        buffers, sizes = args[: len(group.buffers)], args[len(group.buffers) :]
        for plan in group.kernels:
            mine = [*buffers[: len(plan.buffers)], *sizes[: len(plan.scalars)]]
            self.generate_spyre_kernel_call(plan, mine)
            buffers, sizes = buffers[len(plan.buffers) :], sizes[len(plan.scalars) :]


def plan_at(position: int) -> KernelPlan:
    """The plan that generated code names by its position."""
    return _plans[position]


def run_plan(position: int, *args: Any) -> None:
    """Interprets one plan on CPU tensors, in place."""
    plan = _plans[position]
    tensors = dict(zip((b.name for b in plan.buffers), args))
    scalars = dict(zip((s.name for s in plan.scalars), args[len(plan.buffers) :]))
    flat = {name: _storage(tensor) for name, tensor in tensors.items()}
    arrays = {name: _to_numpy(tensor) for name, tensor in flat.items()}
    PlanInterpreter(plan, arrays, scalars).run()
    for buffer in plan.buffers:
        if buffer.access != "read":
            flat[buffer.name].copy_(torch.from_numpy(arrays[buffer.name]))


def _storage(tensor: torch.Tensor) -> torch.Tensor:
    """Everything addressable from the tensor's data pointer, as one dimension."""
    elems = tensor.untyped_storage().nbytes() // tensor.itemsize
    offset = tensor.storage_offset()
    return tensor.as_strided((elems - offset,), (1,), offset)


def _to_numpy(flat: torch.Tensor) -> np.ndarray:
    if str(flat.dtype).removeprefix("torch.") in NARROW:
        return flat.float().numpy()
    return flat.detach().numpy().copy()


@contextlib.contextmanager
def interpreted_backend(
    wrapper: type[InterpretedWrapper] = InterpretedWrapper,
) -> Iterator[list[KernelPlan]]:
    """Inside, backend="inductor" on CPU tensors uses the front end; yields the plans so far."""
    init_backend_registration()
    saved = device_codegens["cpu"]
    _plans.clear()
    torch._dynamo.reset()
    register_backend_for_device("cpu", SpyreScheduling, wrapper)
    # With this cpu_backend Inductor types values as on any GPU, but also splits reductions as for
    # Triton, which it does not on the device.
    patches = {
        "cpu_backend": "triton",
        "split_reductions": False,
        "fx_graph_cache": False,
        "compile_threads": 1,
    }
    try:
        with fresh_cache(), inductor_config.patch(patches):
            yield _plans
    finally:
        device_codegens["cpu"] = saved
        torch._dynamo.reset()


def check_against_eager(
    function: Callable[..., Any], *inputs: Any, **compile_options: Any
) -> list[KernelPlan]:
    """Compiles and runs `function`, compares with eager, and gives the plans."""
    expected = function(*[copied(x) for x in inputs])
    with interpreted_backend() as plans:
        compiled = torch.compile(function, **compile_options)
        actual = compiled(*[copied(x) for x in inputs])
        torch.testing.assert_close(actual, expected, equal_nan=True)
        return list(plans)


def copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        copy = value.detach().clone().requires_grad_(value.requires_grad)
        return copy
    return value
