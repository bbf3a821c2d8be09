"""Every operator that Inductor may hand to a kernel has a plan form, or a reason not to."""

from __future__ import annotations

import inspect

import pytest
from torch._inductor.codegen.common import Kernel, OpDecompositions, OpOverrides
from torch._inductor.codegen.simd import SIMDKernel
from torch._inductor.ops_handler import OP_NAMES, OpsHandler

from spyre_inductor.kernel.overrides import ALIASES, UNREACHABLE, SpyreOverrides
from spyre_inductor.kernel.spyre_kernel import SpyreKernel
from spyre_inductor.plan.op_table import COMPUTE_OPS

# CSEProxy sends these to the kernel, not to the overrides.
KERNEL_OPERATORS = {
    "load",
    "store",
    "store_reduction",
    "reduction",
    "scan",
    "bucketize",
    "check_bounds",
    "device_assert_async",
}
# Inductor calls these only for a backend that announces the feature; else it falls back to ATen.
NOT_ANNOUNCED = {"sort": "SORT"}


def _form(name: str) -> str:
    """How operator `name` reaches a plan; "" when it does not."""
    if name in KERNEL_OPERATORS:
        own = getattr(SpyreKernel, name)
        base = getattr(Kernel, name, None)
        return "kernel" if own is not base else ""
    if name in NOT_ANNOUNCED:
        return "fallback"
    if name in UNREACHABLE:
        return "unreachable"
    if ALIASES.get(name, name) in COMPUTE_OPS and name in vars(SpyreOverrides):
        return "compute"
    if name in vars(SpyreOverrides):
        return "written"
    if name in vars(OpDecompositions):
        return "decomposed"
    return ""


@pytest.mark.parametrize("name", sorted(OP_NAMES))
def test_operator_has_a_plan_form(name: str) -> None:
    assert _form(name), f"ops.{name} has no plan form"


def test_no_text_comes_from_the_base_class() -> None:
    """OpOverrides answers many operators with Python text: none may be left."""
    textual = []
    for name in OP_NAMES:
        method = inspect.getattr_static(SpyreOverrides, name, None)
        base = inspect.getattr_static(OpOverrides, name, None)
        if method is base and _form(name) not in ("kernel", "fallback", "decomposed"):
            textual.append(name)
    assert textual == []


def test_every_compute_operator_is_reachable() -> None:
    """A row of the operator table that no handler records would be dead weight."""
    reached = {ALIASES.get(name, name) for name in OP_NAMES}
    reached |= {"frexp_mantissa", "frexp_exponent"}
    assert set(COMPUTE_OPS) <= reached


def test_the_lists_name_real_operators() -> None:
    named = KERNEL_OPERATORS | set(NOT_ANNOUNCED) | set(UNREACHABLE) | set(ALIASES)
    assert named <= set(OP_NAMES)
    assert all(hasattr(OpsHandler, name) for name in named)
    assert issubclass(SpyreKernel, SIMDKernel)
