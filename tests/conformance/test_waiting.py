"""Operators queue behind a busy stream where their results' shapes are known; the others wait."""

from __future__ import annotations

import pytest
import torch

from tests.conformance import operator_cases
from tests.runtime.test_registration import run_python

# Structured operators, random fills and those with a path of their own know their results' shapes.
COMMON = (
    "add,mul,exp,sum,mean,amax,argmax,any,where,masked_fill,sort,topk,cumsum,gather,scatter,"
    "index_select,cat,clone,clamp,pow,tril,lerp,addcmul,sigmoid,eq,mm,bmm,addmm,softmax,log_softmax,"
    "rand_like,randn_like,nn.functional.relu,nn.functional.gelu,nn.functional.silu,"
    "nn.functional.layer_norm,nn.functional.conv2d,nn.functional.max_pool2d,"
    "nn.functional.avg_pool2d,nn.functional.dropout"
)


def waiting(name: str) -> set[str]:
    """Operators that wait in a float32 op_db entry behind work that takes a while."""
    op = operator_cases.operators()[name]
    (sample,) = operator_cases.samples(op, torch.float32, False, 1)
    inputs = operator_cases.card_inputs(op, sample)
    for milliseconds in (20, 200, 2000):  # until the host was faster than the work
        torch.spyre.synchronize()
        torch.spyre._sleep(milliseconds * 1_000_000)  # nanoseconds of the card's clock
        torch.spyre.reset_operator_calls()
        operator_cases.seeded(op, *inputs)
        calls = torch.spyre.operator_calls()
        waited = {name for name, count in calls.items() if count.waited}
        if waited or not torch.spyre.current_stream().query():
            return waited
    raise AssertionError(f"{name}: the host took longer than two seconds")


@pytest.mark.parametrize("name", COMMON.split(","))
def test_common_operators_do_not_wait(name: str) -> None:
    assert not waiting(name)


def test_what_the_host_needs_does_wait() -> None:
    assert waiting("nonzero") == {"aten::nonzero"}
    assert waiting("masked_select") == {"aten::masked_select"}


def test_operators_import_nothing() -> None:
    """PyTorch's meta kernels would: a thousand modules and a second at the first call."""
    result = run_python(
        "import sys, torch\n"
        "x = torch.rand(300, 300, device='spyre')\n"
        "before = set(sys.modules)\n"
        "for _ in range(2):\n"
        "    x.relu_(); x.roll(1); x.std(0); torch.layer_norm(x, (300,)); x[0].median()\n"
        "    torch.normal(x, 1.0); x.flip(0); torch.nn.functional.rrelu(x, training=True)\n"
        "torch.spyre.synchronize()\n"
        "print(sorted(set(sys.modules) - before))\n"
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: torch.normal(x, 1.0),
        lambda x: torch.normal(0.0, x),
        lambda x: torch.poisson(x),
        lambda x: torch.multinomial(x, 8, replacement=True),
        lambda x: torch.nn.functional.rrelu(-x, training=True),
        lambda x: torch.bernoulli(x / 2),
    ],
)
def test_draws_give_the_cpus_numbers_in_order(draw: object) -> None:
    """Behind other work, among draws that run at once; then again for the same seed."""

    def draws(device: str) -> list[torch.Tensor]:
        x = torch.linspace(0.1, 1.9, 60).reshape(6, 10).to(device)
        operator_cases.seed(3)
        results = []
        for _ in range(3):
            if device == "spyre":
                torch.spyre._sleep(2_000_000)
            results += [draw(x), torch.rand(5, device=device)]  # type: ignore[operator]
        return [r.cpu() for r in results]

    expected = draws("cpu")
    for _ in range(2):
        torch.testing.assert_close(draws("spyre"), expected)


def test_a_queued_kernel_may_choose_another_memory_format() -> None:
    """max_unpool2d restrides its output to channels-last; ours has told its strides by then."""
    x = torch.rand(2, 3, 8, 8)
    pooled, indices = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
    expected = torch.nn.functional.max_unpool2d(pooled, indices, 2)
    for layout in (torch.contiguous_format, torch.channels_last):
        given = [t.to("spyre", memory_format=layout) for t in (pooled, indices)]
        for _ in range(4):
            torch.spyre._sleep(2_000_000)
        result = torch.nn.functional.max_unpool2d(*given, 2)
        torch.testing.assert_close(result.cpu(), expected, check_stride=False)
