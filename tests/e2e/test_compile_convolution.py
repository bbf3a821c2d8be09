"""Convolutions keep channels-last from end to end: eager, predicted and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch._inductor.utils import run_and_get_code
from torch._subclasses import fake_impls
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.support.compiled import check, fresh_dynamo, on  # noqa: F401

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

CHANNELS_LAST = (torch.contiguous_format, torch.channels_last)
CASES = {
    "1d": (F.conv1d, (2, 4, 9), (6, 4, 3), {}),
    "2d": (F.conv2d, (2, 4, 9, 8), (6, 4, 3, 3), {"padding": 1}),
    "grouped": (F.conv2d, (2, 4, 9, 8), (8, 2, 3, 3), {"groups": 2}),
    "dilated": (F.conv2d, (2, 4, 9, 8), (6, 4, 3, 3), {"dilation": 2}),
    "transposed": (F.conv_transpose2d, (2, 4, 9, 8), (4, 6, 3, 3), {"stride": 2}),
    "3d": (F.conv3d, (2, 4, 5, 6, 7), (6, 4, 3, 3, 3), {}),
}


def inputs(case: str, dtype: torch.dtype) -> list[list[torch.Tensor]]:
    """Input and weight of a case, in every combination of the layouts of their rank."""
    _, shape, weight, _ = CASES[case]
    formats = {3: CHANNELS_LAST[:1], 4: CHANNELS_LAST}.get(
        len(shape), (torch.contiguous_format, torch.channels_last_3d)
    )
    return [
        [
            torch.randn(shape, dtype=dtype).to(memory_format=first),
            torch.randn(weight, dtype=dtype).to(memory_format=second),
        ]
        for first in formats
        for second in formats
    ]


def with_gradients(fn: Callable[..., Any], pair: list[torch.Tensor]) -> list[Any]:
    leaves = [x.detach().requires_grad_() for x in pair]
    result = fn(*leaves)
    return [result, *torch.autograd.grad(result.sum(), leaves)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("case", CASES)
def test_layouts_are_the_cpus_and_are_predicted(case: str, dtype: torch.dtype) -> None:
    operator, _, _, options = CASES[case]

    def fn(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return operator(x, w, **options)

    for pair in inputs(case, dtype):
        expected = with_gradients(fn, pair)
        card = [x.to("spyre") for x in pair]
        there = with_gradients(fn, card)
        with FakeTensorMode() as mode:
            fakes = [mode.from_tensor(x) for x in card]
            predicted = with_gradients(fn, fakes)
        for wanted, got, fake in zip(expected, there, predicted, strict=True):
            torch.testing.assert_close(got.cpu(), wanted)
            assert got.stride() == fake.stride()
            assert fake.device.type == "spyre"
        assert there[0].stride() == expected[0].stride()


def network(x: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    return F.relu(F.conv2d(F.relu(F.conv2d(x, first, padding=1)), second, padding=1))


def test_a_compiled_network_permutes_at_its_ends_only() -> None:
    """Three launches: input and weight become channels-last, the activation and the next weight,
    the activation back."""
    args = torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3), torch.randn(4, 4, 3, 3)
    compiled = torch.compile(network, backend="spyre")
    with torch.no_grad():
        _, (code,) = run_and_get_code(compiled, *on("spyre", args))
    assert code.count("channels_last") == 0
    launches = [line for line in code.splitlines() if line.strip().endswith(")")]
    launches = [x.strip() for x in launches if x.strip().startswith("spyre_fused")]
    assert len([x for x in launches if "spyre_module" not in x]) == 3
    # The activation between the convolutions is worked on where it lies.
    assert code.count("in_out_ptr0") > 0
    torch._dynamo.reset()
    check(network, *args)


def test_results_are_not_copied() -> None:
    args = on("spyre", (torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3)))
    compiled = torch.compile(lambda x, w: F.relu(F.conv2d(x, w)).sum(), backend="spyre")
    with torch.no_grad():
        for _ in range(2):
            compiled(*args)
        torch.spyre.synchronize()
        with torch.profiler.profile() as profile:
            compiled(*args)
            torch.spyre.synchronize()
    events = {event.key: event.count for event in profile.key_averages()}
    assert any("convolution" in key for key in events)
    assert "aten::copy_" not in events


def test_training_in_channels_last() -> None:
    def step(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.relu(F.conv2d(x, w, padding=1))

    w = torch.randn(4, 3, 3, 3, requires_grad=True)
    for layout in CHANNELS_LAST:
        x = torch.randn(2, 3, 8, 8).to(memory_format=layout)
        there = on("spyre", w)
        torch.compile(step, backend="spyre")(x.to("spyre"), there).sum().backward()
        (expected,) = torch.autograd.grad(step(x, w).sum(), (w,))
        torch.testing.assert_close(there.grad.cpu(), expected)


def test_upstreams_own_prediction_is_still_another() -> None:
    """When this fails, torch_spyre/fake_tensors.py is needed no more."""
    rules = fake_impls.op_implementations_dict
    operator = torch.ops.aten.convolution.default
    wrapped = rules[operator]
    x = torch.randn(2, 4, 9, 8, device="spyre").to(memory_format=torch.channels_last)
    w = torch.randn(6, 4, 3, 3, device="spyre")
    assert not F.conv2d(x, w).is_contiguous()
    rules[operator] = wrapped.__wrapped__
    try:
        with FakeTensorMode() as mode:
            fake = F.conv2d(mode.from_tensor(x), mode.from_tensor(w))
    finally:
        rules[operator] = wrapped
    assert fake.is_contiguous()
