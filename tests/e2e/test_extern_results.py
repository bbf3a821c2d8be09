"""Results of operators inside a launch plan: used where they lie, copied only where they must."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.support.compiled import check, fresh_dynamo, on  # noqa: F401

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

X, W = torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3)


def followed(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return F.relu(F.conv2d(x, w, padding=1)).sum((2, 3))


def attention(q: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, q, q)


def attention_then_sum(q: torch.Tensor) -> torch.Tensor:
    return attention(q).transpose(1, 2).flatten(2).sum(-1)


def copies(fn: Callable[..., Any], *args: torch.Tensor) -> int:
    """How often one call of the compiled function copies a tensor."""
    compiled, there = torch.compile(fn, backend="spyre"), on("spyre", args)
    for _ in range(2):
        compiled(*there)
    torch.spyre.synchronize()
    with torch.profiler.profile() as profile:
        compiled(*there)
        torch.spyre.synchronize()
    events = {event.key: event.count for event in profile.key_averages()}
    assert any("attention" in key for key in events)
    return events.get("aten::copy_", 0)


def test_a_temporary_is_not_copied_and_an_output_is() -> None:
    q = torch.randn(2, 4, 16, 32)
    assert copies(attention, q) == copies(attention_then_sum, q) + 1
    check(attention_then_sum, q)


def two_in_a_row(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    first = F.conv2d(x, w, padding=1)
    second = F.conv2d(F.gelu(first)[:, :3], w, padding=1)
    return second.mean((2, 3)), (first + second).amax(1), first.flatten(1).cumsum(1)


def test_results_of_several_calls_live_to_the_end() -> None:
    check(two_in_a_row, X, W, calls=3)


def test_another_layout_is_still_right() -> None:
    check(followed, X.to(memory_format=torch.channels_last), W)
    check(followed, X.transpose(2, 3), W)


def test_sizes_change_between_calls() -> None:
    compiled = torch.compile(two_in_a_row, backend="spyre", dynamic=True)
    for size in (9, 16, 9, 40):
        x = torch.randn(2, 3, size, size)
        for got, wanted in zip(
            compiled(*on("spyre", (x, W))), two_in_a_row(x, W), strict=True
        ):
            torch.testing.assert_close(got.cpu(), wanted)


def test_a_captured_plan_replays_with_new_inputs() -> None:
    compiled = torch.compile(two_in_a_row, backend="spyre")
    x, w = on("spyre", (X, W))
    compiled(x, w)
    graph = torch.spyre.SpyreGraph()
    with torch.spyre.graph(graph):
        results = compiled(x, w)
    for _ in range(3):
        fresh = torch.randn_like(X)
        x.copy_(fresh)
        graph.replay()
        torch.spyre.synchronize()
        for got, wanted in zip(results, two_in_a_row(fresh, W), strict=True):
            torch.testing.assert_close(got.cpu(), wanted)


def independent(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Kernels of different shapes whose temporaries would share memory if they ran in order."""
    outputs = []
    for scale in (1.0, 2.0, 3.0):
        rows = (a * scale).softmax(-1)
        outputs.append(rows - rows.mean(0, keepdim=True))
        columns = (b + scale).softmax(0)
        outputs.append(columns - columns.mean(1, keepdim=True))
    return tuple(outputs)


def test_kernels_without_a_barrier_do_not_share_temporaries() -> None:
    a, b = torch.randn(700, 300), torch.randn(310, 690)
    compiled = torch.compile(independent, backend="spyre")
    there = on("spyre", (a, b))
    expected = independent(a, b)
    for _ in range(10):
        for got, wanted in zip(compiled(*there), expected, strict=True):
            torch.testing.assert_close(got.cpu(), wanted)


def test_a_graph_may_end_with_the_release_of_a_workspace() -> None:
    """A sum that is split over cores, of an operator's result that nobody releases after it."""
    x = torch.randn(8, 32, 64, 64)
    check(lambda x: F.relu(x @ x.transpose(-1, -2)).sum(), x)


def test_a_result_that_stays_where_it_lies_is_counted() -> None:
    """Its slot stays reserved in the plan's workspace, on the card, for as many bytes."""
    x, w = torch.randn(4, 3, 64, 64, device="spyre"), W.to("spyre")
    compiled = torch.compile(followed, backend="spyre")
    with torch.no_grad():
        compiled(x, w)
        torch.spyre.synchronize()
        before = torch.spyre.memory_allocated()
        torch.spyre.reset_peak_memory_stats()
        compiled(x, w)
        torch.spyre.synchronize()
    convolved = 4 * 4 * 64 * 64 * 4
    assert torch.spyre.max_memory_allocated() - before >= convolved
