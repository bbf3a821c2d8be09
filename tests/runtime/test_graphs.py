"""Capture and replay."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

spyre = torch.spyre


def test_capture_does_not_run_and_replay_does() -> None:
    x = torch.zeros(4, device="spyre")
    graph = spyre.SpyreGraph()
    with spyre.graph(graph):
        x += 1
    assert x.sum().item() == 0
    graph.replay()
    graph.replay()
    assert x.sum().item() == 8


def test_outputs_keep_their_addresses_and_follow_the_inputs() -> None:
    x = torch.ones(1000, device="spyre")
    graph = spyre.SpyreGraph()
    with spyre.graph(graph):
        y = (x * 2).clamp(min=0) + 1
    address = y.data_ptr()
    for value in (1.0, -3.0, 5.0):
        x.fill_(value)
        graph.replay()
        assert y.data_ptr() == address
        assert y.min().item() == max(value * 2, 0) + 1


def test_matrix_products_are_captured() -> None:
    a = torch.rand(64, 64, device="spyre")
    graph = spyre.SpyreGraph()
    with spyre.graph(graph):
        b = a @ a
    graph.replay()
    torch.testing.assert_close(b.cpu(), a.cpu() @ a.cpu())


def test_accelerator_graph_works() -> None:
    x = torch.zeros(4, device="spyre")
    graph = torch.accelerator.Graph()
    with torch.Stream("spyre"), graph:
        x += 1
    graph.replay()
    torch.accelerator.synchronize()
    assert x.sum().item() == 4


def test_work_of_joined_streams_is_captured() -> None:
    x = torch.ones(100, device="spyre")
    side = spyre.Stream()
    graph = spyre.SpyreGraph()
    with spyre.graph(graph):
        side.wait_stream(spyre.current_stream())
        with spyre.stream(side):
            y = x * 3
        spyre.current_stream().wait_stream(side)
        z = y + 1
    x.fill_(2)
    graph.replay()
    assert z.min().item() == z.max().item() == 7


def test_capture_state_is_visible() -> None:
    assert not spyre.is_current_stream_capturing()
    with spyre.graph(spyre.SpyreGraph()):
        assert spyre.is_current_stream_capturing()
        assert spyre.current_stream().is_capturing()
    assert not spyre.is_current_stream_capturing()


def test_an_operation_that_synchronises_raises_and_the_device_recovers() -> None:
    x = torch.ones(4, device="spyre")
    graph = spyre.SpyreGraph()
    with pytest.raises(torch.AcceleratorError, match="captur"), spyre.graph(graph):
        x.sum().item()
    assert not spyre.is_current_stream_capturing()
    assert x.sum().item() == 4


def test_capture_on_the_default_stream_is_refused() -> None:
    graph = spyre.SpyreGraph()
    with pytest.raises(RuntimeError, match="non-default stream"):
        graph.capture_begin()


def test_misuse_is_named() -> None:
    graph = spyre.SpyreGraph()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    with pytest.raises(RuntimeError, match="without a matching capture_begin"):
        graph.capture_end()
    with pytest.raises(RuntimeError, match="Unknown capture error mode"):
        graph.capture_begin(capture_error_mode="loose")
    with spyre.graph(graph):
        pass
    with (
        pytest.raises(RuntimeError, match="already owns a captured graph"),
        spyre.graph(graph),
    ):
        pass


def test_reset_allows_another_capture() -> None:
    x = torch.zeros(4, device="spyre")
    graph = spyre.SpyreGraph()
    with spyre.graph(graph):
        x += 1
    graph.reset()
    with spyre.graph(graph):
        x += 10
    graph.replay()
    assert x.sum().item() == 40


def test_graphs_share_a_pool() -> None:
    x = torch.ones(1000, device="spyre")
    pool = spyre.graph_pool_handle()
    first, second = spyre.SpyreGraph(), spyre.SpyreGraph()
    with spyre.graph(first, pool=pool):
        y = x + 1
    with spyre.graph(second, pool=first.pool()):
        z = y * 2
    assert tuple(first.pool()) == tuple(second.pool()) == tuple(pool)
    first.replay()
    second.replay()
    assert z.min().item() == 4


def test_memory_of_a_dead_graph_returns() -> None:
    x = torch.ones(1 << 20, device="spyre")
    spyre.synchronize()
    spyre.empty_cache()
    before = spyre.memory_reserved()
    graph = spyre.SpyreGraph()
    with spyre.graph(graph):
        y = x + 1
    assert spyre.memory_reserved() > before
    del y, graph
    spyre.synchronize()
    spyre.empty_cache()
    assert spyre.memory_reserved() == before


def test_random_numbers_differ_between_replays() -> None:
    graph = spyre.SpyreGraph()
    x = torch.zeros(100, device="spyre")
    with spyre.graph(graph):
        x.uniform_()
    graph.replay()
    first = x.cpu()
    graph.replay()
    assert not torch.equal(x.cpu(), first)


def captured_draw() -> tuple[torch.spyre.SpyreGraph, torch.Tensor]:
    graph = torch.spyre.SpyreGraph()
    with torch.spyre.graph(graph):
        drawn = torch.rand(64, device="spyre")
    return graph, drawn


def test_a_new_seed_does_not_overtake_queued_replays() -> None:
    graph, drawn = captured_draw()
    seen = []
    for _ in range(2):
        torch.spyre.manual_seed(1)
        for _ in range(2):
            torch.spyre._sleep(2_000_000)
            graph.replay()
            seen.append(drawn.clone())
    first, second, third, fourth = (x.cpu() for x in seen)
    torch.testing.assert_close((first, second), (third, fourth), rtol=0, atol=0)
    assert not torch.equal(first, second)


def test_a_new_seed_does_not_wait_after_a_capture() -> None:
    """Nor does it for replays that are still queued."""
    graph, _ = captured_draw()
    torch.spyre._sleep(300_000_000)
    graph.replay()
    torch.spyre.manual_seed(1)
    busy = not torch.spyre.current_stream().query()
    torch.spyre.synchronize()
    assert busy


def test_the_state_counts_queued_replays() -> None:
    graph, drawn = captured_draw()
    torch.spyre.manual_seed(1)
    torch.spyre._sleep(2_000_000)
    graph.replay()
    state = torch.spyre.get_rng_state()
    graph.replay()
    expected = drawn.clone()
    torch.spyre.set_rng_state(state)
    graph.replay()
    torch.testing.assert_close(drawn, expected, rtol=0, atol=0)


def test_eager_draws_follow_replays_on_another_stream() -> None:
    graph, drawn = captured_draw()
    torch.manual_seed(1)
    expected = torch.rand(64), torch.rand(64)
    torch.spyre.manual_seed(1)
    with torch.spyre.stream(torch.spyre.Stream()):
        torch.spyre._sleep(2_000_000)
        graph.replay()
    eager = torch.rand(64, device="spyre")
    torch.spyre.synchronize()
    torch.testing.assert_close((drawn.cpu(), eager.cpu()), expected, rtol=0, atol=0)


def test_states_are_read_and_numbers_drawn_elsewhere_during_a_capture() -> None:
    """The stream that captures has drawn before: what it captures is not waited for."""
    stream = torch.spyre.Stream()
    with torch.spyre.stream(stream):
        torch.rand(4, device="spyre")
        graph = torch.spyre.SpyreGraph()
        graph.capture_begin()
        drawn = torch.rand(4, device="spyre")
        state = torch.spyre.get_rng_state()
        with torch.spyre.stream(torch.spyre.default_stream()):
            torch.rand(4, device="spyre")
        graph.capture_end()
    torch.spyre.set_rng_state(state)
    graph.replay()
    torch.spyre.set_rng_state(state)
    torch.testing.assert_close(drawn, torch.rand(4, device="spyre"))


def test_captures_on_one_card_after_another() -> None:
    for card in (1, 0, 1):
        with torch.spyre.device(card):
            x = torch.ones(4, device="spyre")
            graph = torch.spyre.SpyreGraph()
            with torch.spyre.graph(graph):
                doubled = x * 2
            x.fill_(3)
            graph.replay()
            assert doubled.tolist() == [6.0] * 4 and doubled.device.index == card


def test_operators_that_are_not_queued_eagerly_are_captured() -> None:
    torch.manual_seed(0)
    block = torch.nn.Sequential(
        torch.nn.Embedding(10, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 8)
    ).to("spyre")
    ids = torch.tensor([1, 2, 3], device="spyre")
    graph = spyre.SpyreGraph()
    with torch.no_grad(), spyre.graph(graph):
        y, indices = block(ids).softmax(-1).sort(-1)
    for new_ids in ([1, 2, 3], [9, 0, 4]):
        ids.copy_(torch.tensor(new_ids))
        graph.replay()
        expected = block(ids).softmax(-1).sort(-1)
        torch.testing.assert_close(y, expected.values)
        assert torch.equal(indices, expected.indices)


CAPTURED = {
    "arange": lambda x: x[torch.arange(3, device=x.device)],
    "linspace": lambda x: torch.linspace(0, 1, 5, device=x.device) + 1,
    "eye": lambda x: torch.eye(4, device=x.device) @ x,
    "index_add": lambda x: x.index_add(0, torch.arange(2, device=x.device), x[:2]),
    "out": lambda x: torch.add(x, x, out=torch.empty(0, device=x.device)),
    "batch_norm": lambda x: torch.nn.functional.batch_norm(x, x[0], x[1].abs() + 1),
    "embedding_bag": lambda x: torch.nn.functional.embedding_bag(
        torch.arange(4, device=x.device).view(2, 2), x
    ),
    "logcumsumexp": lambda x: x.logcumsumexp(0),  # has no meta kernel
    "running statistics": lambda x: torch._native_batch_norm_legit(
        x, None, None, x[0].clone(), x[1].abs() + 1, True, 0.1, 1e-5
    )[0],
}


@pytest.mark.parametrize("name", CAPTURED)
def test_shapes_of_captured_results(name: str) -> None:
    x = torch.randn(4, 4)
    given = torch.zeros(4, 4, device="spyre")
    graph = torch.spyre.SpyreGraph()
    with torch.spyre.graph(graph):
        result = CAPTURED[name](given)
    given.copy_(x)
    graph.replay()
    torch.testing.assert_close(result.cpu(), CAPTURED[name](x))


def test_results_whose_shape_depends_on_data_are_refused() -> None:
    x = torch.tensor([0, 1, 2], device="spyre")
    with (
        pytest.raises(torch.AcceleratorError, match=r"nonzero.*depend on data"),
        spyre.graph(spyre.SpyreGraph()),
    ):
        x.nonzero()
    assert x.nonzero().flatten().tolist() == [1, 2]


def test_debug_dump_writes_a_file(tmp_path: Path) -> None:
    graph = spyre.SpyreGraph(keep_graph=True)
    graph.enable_debug_mode()
    x = torch.zeros(4, device="spyre")
    with spyre.graph(graph):
        x += 1
    path = tmp_path / "graph.txt"
    graph.debug_dump(str(path))
    assert "memory pool" in path.read_text()


def test_graphed_module_trains_like_the_plain_one() -> None:
    torch.manual_seed(0)
    plain = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)
    ).to("spyre")
    graphed = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)
    ).to("spyre")
    graphed.load_state_dict(plain.state_dict())
    sample = torch.randn(2, 8, device="spyre", requires_grad=True)
    graphed = spyre.make_graphed_callables(graphed, (sample,))
    for _ in range(3):
        x = torch.randn(2, 8, device="spyre", requires_grad=True)
        x2 = x.detach().clone().requires_grad_()
        for module, data in ((plain, x), (graphed, x2)):
            module.zero_grad()
            module(data).square().sum().backward()
        torch.testing.assert_close(x2.grad, x.grad)
        for p, q in zip(plain.parameters(), graphed.parameters(), strict=True):
            torch.testing.assert_close(q.grad, p.grad)


def test_graphed_callables_refuse_hooks() -> None:
    module = torch.nn.Linear(2, 2).to("spyre")
    module.register_forward_hook(lambda *_: None)
    with pytest.raises(AssertionError, match="hooks"):
        spyre.make_graphed_callables(module, (torch.ones(1, 2, device="spyre"),))
