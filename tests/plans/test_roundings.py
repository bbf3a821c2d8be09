"""Roundings to 16 bits that the front end drops: which ones, and that every bit stays eager's."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch._inductor import config as inductor_config

from spyre_inductor.kernel.roundings import drop_useless_roundings, is_representable
from spyre_inductor.plan import kernel_plan as kp
from tests.support import interpreted_backend as interpreted
from tests.support.rendered_backend import RenderedWrapper

BFLOAT16, FLOAT16 = torch.bfloat16, torch.float16


def _all_values(dtype: torch.dtype) -> torch.Tensor:
    return torch.arange(-(1 << 15), 1 << 15, dtype=torch.int16).view(dtype)


def _shuffled(dtype: torch.dtype) -> torch.Tensor:
    order = torch.randperm(1 << 16, generator=torch.Generator().manual_seed(9))
    return _all_values(dtype)[order]


def _compiled(function: Any, *inputs: torch.Tensor) -> tuple[Any, int]:
    """The result with roundings between operators, and the number of casts that round."""
    torch._dynamo.reset()
    with (
        interpreted.interpreted_backend(RenderedWrapper) as plans,
        inductor_config.patch(emulate_precision_casts=True),
    ):
        result = torch.compile(function, dynamic=False)(*inputs)
    ops = [op for plan in plans for stage in plan.stages for op in stage.ops]
    casts = [op for op in ops if isinstance(op, kp.Cast) and op.rounds_to is not None]
    stored = {op.value for op in ops if isinstance(op, kp.Store)}
    return result, sum(cast.result not in stored for cast in casts)


def _assert_bits_equal(result: torch.Tensor, expected: torch.Tensor) -> None:
    assert result.dtype == expected.dtype
    both_nan = result.isnan() & expected.isnan()
    same = result.view(torch.int16) == expected.view(torch.int16)
    assert (same | both_nan).all(), (~(same | both_nan)).nonzero()[:5]


# Function of all values and all values in another order -> roundings left beside the stores'.
POINTWISE: dict[str, tuple[Any, dict[torch.dtype, int]]] = {
    "sum_then_relu": (lambda a, b: torch.relu(a + b), {BFLOAT16: 0, FLOAT16: 0}),
    "product_then_relu": (lambda a, b: torch.relu(a * b), {BFLOAT16: 1, FLOAT16: 1}),
    "doubled": (lambda a, b: torch.relu(a * 2 + b), {BFLOAT16: 0, FLOAT16: 0}),
    "times_a_large_power": (
        lambda a, b: (a * -32768).abs().minimum(b),
        {BFLOAT16: 0, FLOAT16: 0},
    ),
    "times_a_larger_power": (lambda a, b: a * 65536 + b, {BFLOAT16: 0, FLOAT16: 1}),
    "tripled": (lambda a, b: a * 3 + b, {BFLOAT16: 1, FLOAT16: 1}),
    "halved": (lambda a, b: a * 0.5 + b, {BFLOAT16: 1, FLOAT16: 1}),
    "product_then_signs": (lambda a, b: -(a * b).abs(), {BFLOAT16: 0, FLOAT16: 0}),
    "greater_of_two": (
        lambda a, b: torch.maximum(a, -b) + 1,
        {BFLOAT16: 0, FLOAT16: 0},
    ),
    "chosen": (
        lambda a, b: torch.where(a > b, a, -b).clamp(-2, 3) * a,
        {BFLOAT16: 0, FLOAT16: 0},
    ),
    "whole_numbers": (lambda a, b: a.floor() + b.trunc(), {BFLOAT16: 0, FLOAT16: 0}),
    "constant": (lambda a, b: a + 0.25 + b, {BFLOAT16: 1, FLOAT16: 1}),
    "two_products": (lambda a, b: a * b * b, {BFLOAT16: 1, FLOAT16: 1}),
    "used_twice": (lambda a, b: (a + b).abs() * (a + b), {BFLOAT16: 1, FLOAT16: 1}),
    "bytes": (lambda a, b: a.isnan().to(a.dtype) + b, {BFLOAT16: 0, FLOAT16: 0}),
}


@pytest.mark.parametrize("dtype", [BFLOAT16, FLOAT16], ids=["bfloat16", "float16"])
@pytest.mark.parametrize("name", POINTWISE)
def test_every_value_has_eagers_bits(name: str, dtype: torch.dtype) -> None:
    function, left = POINTWISE[name]
    a, b = _all_values(dtype), _shuffled(dtype)
    result, roundings = _compiled(function, a, b)
    _assert_bits_equal(result, function(a, b))
    assert roundings == left[dtype]


@pytest.mark.parametrize("dtype", [BFLOAT16, FLOAT16], ids=["bfloat16", "float16"])
@pytest.mark.parametrize(
    ("function", "left"),
    [
        (lambda a, b: (a * b).amax(-1), 0),
        (lambda a, b: (a + b).amin(0), 0),
        (lambda a, b: -(a * b).abs().amin(-1), 1),  # once per row
        (lambda a, b: (a * b).amax(-1) + 1, 1),  # once per row
        (lambda a, b: (a * b).amax(-1, keepdim=True) - a * b, 1),
    ],
    ids=["max", "min_of_columns", "signs", "used_on", "two_loops"],
)
def test_extremes_round_once(function: Any, left: int, dtype: torch.dtype) -> None:
    values = torch.randn(2, 96, 160, generator=torch.Generator().manual_seed(2))
    a, b = values.to(dtype)
    a[3, 5], b[4, 7] = torch.nan, -torch.inf
    result, roundings = _compiled(function, a, b)
    _assert_bits_equal(result, function(a, b))
    assert roundings == left


def test_softmax_rows_kept_in_lx_stay_rounded() -> None:
    values = torch.randn(2, 64, 320, generator=torch.Generator().manual_seed(3))
    a, b = values.bfloat16()
    result, _ = _compiled(lambda a, b: F.softmax(a + b, -1), a, b)
    torch.testing.assert_close(result, F.softmax(a + b, -1))


def test_a_rounding_to_another_type_stays() -> None:
    stage = kp.PointStage(
        (
            kp.Load("a", "in_ptr0", 0, "float32"),
            kp.Cast("h", "a", "float32", rounds_to="float16"),
            kp.Store("out_ptr0", 0, "h"),
        )
    )
    for stored, memory in (("bfloat16", "bfloat16"), ("float32", "float16")):
        types = {"in_ptr0": memory, "out_ptr0": stored}
        (kept,) = drop_useless_roundings([stage], types, ())
        dropped = memory == "float16"
        assert any(isinstance(op, kp.Cast) for op in kept.ops) != dropped


@pytest.mark.parametrize(
    ("value", "bfloat16", "float16"),
    [
        (0.5, True, True), (0.1, False, False), (257.0, False, True), (1e38, False, False),
        (2.0**100, True, False), (65504.0, False, True), (-0.0, True, True),
        (2.0**-24, True, True), (2.0**-130, True, False), (float("nan"), True, True),
        (float("inf"), True, True), (1e300, False, False),
    ],
)  # fmt: skip
def test_representable_constants(value: float, bfloat16: bool, float16: bool) -> None:
    assert is_representable(value, "bfloat16") is bfloat16
    assert is_representable(value, "float16") is float16
