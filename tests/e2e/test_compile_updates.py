"""In-place updates of what a graph reads elsewhere."""

from __future__ import annotations

import pytest
import torch

from spyre_inductor.passes.mutated_inputs import copy_before_writes
from tests.support.compiled import check, fresh_dynamo  # noqa: F401

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def test_an_update_waits_for_reads_at_other_places() -> None:
    """The second update reads rows that the first one has given another name."""

    def fn(x: torch.Tensor) -> torch.Tensor:
        x.index_put_((torch.arange(x.size(0), device=x.device),), x * 2.0)
        x.add_(x.flip(0))
        return x

    check(fn, torch.rand(4, 8))


def test_an_update_of_the_places_it_reads_stays_fused() -> None:
    def fn(p: torch.Tensor, m: torch.Tensor, g: torch.Tensor) -> None:
        m.mul_(0.9).add_(g)
        p.sub_(m * 0.1)
        p.mul_(0.99)

    check(fn, torch.rand(4, 8), torch.rand(4, 8), torch.rand(4, 8))


def test_scatters_of_an_input_that_is_written_later() -> None:
    def fn(x: torch.Tensor, s: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.slice_scatter(x, s[1:3], dim=0, start=1, end=3)
        z = torch.select_scatter(x.t(), s[:, 0], 0, 3)
        x.zero_()
        return y, z

    check(fn, torch.rand(4, 6), torch.rand(4, 6))


def test_a_view_in_another_dtype_is_read_before_a_write() -> None:
    def fn(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        whole, part = x.view(torch.int32) * 2, x[1:].view(torch.int32) + 1
        x[:, 2:5] = 2
        return whole.view(torch.int64), part

    check(fn, torch.arange(-12, 12).reshape(4, 6))


def test_scatters_that_are_the_write_need_no_copy() -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    value = torch.empty(4, 6, device="meta")
    x.meta["val"] = value
    part = graph.call_function(torch.ops.aten.slice.Tensor, (x, 0, 1, 3))
    one = graph.call_function(torch.ops.aten.slice_scatter.default, (x, part, 0, 1, 3))
    two = graph.call_function(torch.ops.aten.select_scatter.default, (one, one, 0, 3))
    graph.call_function(torch.ops.aten.copy_.default, (x, two))
    graph.output(())
    names = [node.name for node in graph.nodes]
    copy_before_writes(graph)
    assert [node.name for node in graph.nodes] == names
