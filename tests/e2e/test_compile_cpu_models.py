"""Models that stay on the CPU, with backend="spyre": nothing is copied and nothing is stale."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.passes.fake_tensor_prop import FakeTensorProp

from spyre_inductor.passes import cpu_graph
from tests.support.compiled import check, fresh_dynamo  # noqa: F401

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def test_results_come_back_on_the_cpu() -> None:
    def fn(x, y):
        return (x @ y).relu(), x.sum(), x.t()

    check(fn, torch.randn(6, 4), torch.randn(4, 5), device="cpu")


def test_mutation_is_seen_in_the_callers_tensor() -> None:
    def fn(x):
        x.mul_(3)
        return x.sum()

    check(fn, torch.randn(9), device="cpu")


def test_gradients_and_optimizer_steps() -> None:
    torch.manual_seed(0)
    plain = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2)
    )
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2)
    )
    model.load_state_dict(plain.state_dict())
    compiled = torch.compile(model, backend="spyre")
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (plain, model)]
    for _ in range(3):
        x = torch.randn(5, 8)
        for run, optimizer in zip((plain, compiled), optimizers, strict=True):
            optimizer.zero_grad()
            run(x).square().mean().backward()
            optimizer.step()
    for got, wanted in zip(model.parameters(), plain.parameters(), strict=True):
        assert got.device.type == "cpu"
        torch.testing.assert_close(got, wanted)


def test_load_state_dict_and_in_place_updates_are_seen_at_once() -> None:
    model = torch.nn.Linear(4, 3)
    compiled = torch.compile(model, backend="spyre")
    x = torch.randn(2, 4)
    with torch.no_grad():
        compiled(x)
        model.load_state_dict(torch.nn.Linear(4, 3).state_dict())
        torch.testing.assert_close(compiled(x), model(x))
        model.weight.zero_()
        torch.testing.assert_close(compiled(x), model.bias.expand(2, 3))


def test_large_result_is_ready_when_it_is_returned() -> None:
    def fn(x):
        return (x @ x).tanh()

    x = torch.randn(768, 768)
    compiled = torch.compile(fn, backend="spyre")
    for _ in range(3):
        torch.testing.assert_close(compiled(x), fn(x))


def test_output_outlives_its_compiled_function() -> None:
    compiled = torch.compile(lambda x: x * 2 + 1, backend="spyre")
    outputs = [compiled(torch.full((256,), float(i))) for i in range(20)]
    del compiled
    for i, output in enumerate(outputs):
        assert output.eq(2 * i + 1).all()


def test_graph_that_names_spyre_keeps_its_meaning() -> None:
    def fn(x):
        there = x.to("spyre") + 1
        return there, there.cpu() * 2

    x = torch.randn(7)
    there, here = torch.compile(fn, backend="spyre")(x)
    assert there.device.type == "spyre"
    assert here.device.type == "cpu"
    torch.testing.assert_close(here, (x + 1) * 2)


def test_constants_and_constructors() -> None:
    table = torch.arange(12.0).reshape(3, 4)

    def fn(x):
        return (
            x
            + table
            + torch.arange(4, dtype=torch.float32)
            + torch.tensor([1.0, 2.0, 3.0, 4.0])
        )

    check(fn, torch.randn(3, 4), device="cpu")


def test_dynamic_shapes() -> None:
    def fn(x):
        return (x * 2).sum(-1)

    compiled = torch.compile(fn, backend="spyre", dynamic=True)
    for n in (3, 17, 64):
        x = torch.randn(n, n + 1)
        torch.testing.assert_close(compiled(x), fn(x))


def test_other_backends_are_not_served_this_ones_code() -> None:
    def fn(x):
        return x * 5 - 1

    x = torch.randn(11)
    spyre = torch.compile(fn, backend="spyre")(x)
    torch._dynamo.reset()
    eager = torch.compile(fn, backend="aot_eager")(x)
    torch.testing.assert_close(spyre, eager)


def test_attention_of_a_cpu_model_has_a_launch_plan() -> None:
    from spyre_inductor.launch.statistics import counts

    def fn(q):
        return torch.nn.functional.scaled_dot_product_attention(q, q, q) * 2

    before = counts["graphs_planned"]
    check(fn, torch.randn(1, 2, 6, 8), device="cpu")
    assert counts["graphs_planned"] == before + 1


def test_view_of_a_saved_tensor_that_lies_in_other_strides() -> None:
    """A forward may choose other strides than its trace had, as Mamba's scan does."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output((graph.call_function(torch.ops.aten.view.default, (x, [4, 2, 8])),))
    gm = torch.fx.GraphModule({}, graph)
    with FakeTensorMode() as mode:
        permuted = torch.empty_strided((2, 2, 2, 8), (32, 2, 1, 4))
    with pytest.raises(ValueError, match="view"):
        FakeTensorProp(gm, mode=mode).propagate_dont_convert_inputs(permuted)
    (moved,) = cpu_graph.move_to_card(gm, [permuted])
    assert moved.stride() == (32, 2, 1, 4)
    (result,) = gm(torch.empty_strided((2, 2, 2, 8), (32, 2, 1, 4), device="spyre"))
    assert result.shape == (4, 2, 8)
