"""Large eager work is queued: calls return at once, errors come at the next wait."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

SPYRE = torch.device("spyre:0")


def large_calls() -> dict[str, Callable[[], object]]:
    matrix = torch.rand(1536, 1536, device=SPYRE)
    out = torch.empty(1536, 1536, device=SPYRE)
    image = torch.rand(8, 32, 96, 96, device=SPYRE)
    weight = torch.rand(64, 32, 3, 3, device=SPYRE)
    query = torch.rand(2, 8, 1024, 64, device=SPYRE)
    flat = torch.rand(1 << 22, device=SPYRE)
    mask = matrix > 0.5
    return {
        "matmul": lambda: matrix @ matrix,
        "matmul out=": lambda: torch.mm(matrix, matrix, out=out),
        "convolution": lambda: F.conv2d(image, weight),
        "attention": lambda: F.scaled_dot_product_attention(query, query, query),
        "pointwise": lambda: flat.exp(),
        "in-place": lambda: flat.mul_(1.0),
        "softmax": lambda: matrix.softmax(-1),
        "layer_norm": lambda: F.layer_norm(matrix, (1536,)),
        "where": lambda: torch.where(mask, matrix, out),
        "masked_fill_": lambda: out.masked_fill_(mask, 1.0),
        "randn": lambda: torch.randn(1 << 21, device=SPYRE),
        "dropout": lambda: F.dropout(matrix, 0.5),
    }


@pytest.mark.parametrize("name", list(large_calls()))
def test_large_work_is_queued(name: str) -> None:
    call = large_calls()[name]
    call()
    torch.spyre.synchronize()
    busy = torch.rand(2048, 2048, device=SPYRE)
    for _ in range(4):
        busy = busy @ busy
    result = call()
    # Had the call waited, the work before it would be done by now.
    assert not torch.spyre.current_stream().query(), f"{name} waited for the stream"
    torch.spyre.synchronize()
    del result


def test_queued_results_are_right() -> None:
    cpu = torch.rand(700, 700)
    x = cpu.to(SPYRE)
    y = x
    expected = cpu
    for _ in range(4):
        y = (y @ x).mul_(0.01).relu() + x
        expected = (expected @ cpu).mul_(0.01).relu() + cpu
    torch.testing.assert_close(y.cpu(), expected)


def test_memory_freed_behind_queued_work_is_not_overwritten() -> None:
    cpu = torch.rand(800, 800)
    x = cpu.to(SPYRE)
    total = torch.zeros(800, 800, device=SPYRE)
    for _ in range(6):
        total += x @ x  # the product is freed at once, while it is still queued
    torch.testing.assert_close(total.cpu(), 6 * (cpu @ cpu), rtol=1e-4, atol=1e-2)


def test_index_out_of_range_is_raised_at_the_wait_and_the_next_operator_works() -> None:
    table = torch.rand(100, 2000, device=SPYRE)
    index = torch.full((3000,), 50, device=SPYRE)
    index[17] = 100
    queued = table.index_select(0, index)
    with pytest.raises((RuntimeError, IndexError), match=r"out of range|index"):
        torch.spyre.synchronize()
    del queued
    assert (table[:2] * 0).sum().item() == 0
    torch.spyre.synchronize()


def test_small_index_out_of_range_is_raised_somewhere_before_the_wait_ends() -> None:
    table = torch.rand(10, 2, device=SPYRE)
    with pytest.raises((RuntimeError, IndexError)):
        table[torch.tensor([3, 10], device=SPYRE)].cpu()
    assert table.sum().item() > 0


def test_shape_errors_are_raised_by_the_call() -> None:
    large = torch.rand(1000, 1000, device=SPYRE)
    with pytest.raises(RuntimeError, match="must match"):
        large + torch.rand(999, device=SPYRE)
    with pytest.raises(RuntimeError, match=r"cannot be multiplied|mat1 and mat2"):
        large @ torch.rand(999, 3, device=SPYRE)
    with pytest.raises(RuntimeError, match="broadcast"):
        large.copy_(torch.rand(3, device=SPYRE))


def test_host_number_may_change_after_the_call() -> None:
    matrix = torch.rand(1200, 1200, device=SPYRE)
    number = torch.tensor(2.0)
    x = torch.ones(1 << 20, device=SPYRE)
    matrix @ matrix  # whatever follows is behind this
    x.mul_(number)
    number.fill_(100)
    assert x.sum().item() == 2 << 20


def test_operators_that_wait_are_counted() -> None:
    from torch_spyre import _C

    x = torch.rand(1 << 20, device=SPYRE)
    _C.reset_operator_counters()
    x.nonzero()
    x.cumsum(0)
    counters = {row[0]: row[1:] for row in _C.operator_counters()}
    assert counters["aten::nonzero"][2] == 1
    assert counters["aten::cumsum.out"][1] == 1


def test_queued_random_numbers_follow_the_calls() -> None:
    """Seeds, states and other streams between queued draws act where they were called."""
    size = 1 << 18
    side = torch.spyre.Stream()
    busy = torch.ones(1500, 1500, device=SPYRE)
    torch.manual_seed(1)
    for _ in range(3):
        busy @ busy
    ours = [torch.randn(size, device=SPYRE), torch.empty(size, device=SPYRE)]
    ours[1].bernoulli_(0.3)
    with torch.spyre.stream(side):
        ours.append(torch.randn(size, device=SPYRE))
    state = torch.spyre.get_rng_state()
    ours.append(torch.randn(size, device=SPYRE))
    torch.manual_seed(2)
    ours.append(torch.randn(size, device=SPYRE))
    torch.spyre.set_rng_state(state)
    ours.append(torch.randn(size, device=SPYRE))
    torch.spyre.synchronize()
    torch.manual_seed(1)
    cpu = [torch.randn(size), torch.empty(size).bernoulli_(0.3), torch.randn(size)]
    cpu.append(torch.randn(size))
    torch.manual_seed(2)
    cpu += [torch.randn(size), cpu[-1]]
    for a, b in zip(ours, cpu, strict=True):
        assert torch.equal(a.cpu(), b)


def test_replays_of_a_captured_draw_see_new_seeds() -> None:
    x = torch.zeros(1 << 18, device=SPYRE)
    graph = torch.spyre.SpyreGraph()
    with torch.spyre.graph(graph):
        x.normal_()
    for seed in (5, 6):
        torch.manual_seed(seed)
        graph.replay()
        torch.manual_seed(seed)
        assert torch.equal(x.cpu(), torch.randn(1 << 18))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.normal_(0, -1),
        lambda x: x.uniform_(2, 1),
        lambda x: x.bernoulli_(1.5),
        lambda x: x.random_(3, 3),
        lambda x: x.exponential_(-1),
        lambda x: torch.add(x, x, out=torch.empty(x.shape, device=SPYRE).long()),
        lambda x: torch.add(x, x, out=torch.empty(1, device=SPYRE).expand(x.shape)),
        lambda x: torch.exp(x[1:], out=x[:-1]),
        lambda x: x[1:].copy_(x[:-1]),
        lambda x: x[1:9].copy_(x[:8]),
    ],
)
def test_calls_that_are_wrong_for_any_data_raise_themselves(
    call: Callable[[torch.Tensor], object],
) -> None:
    x = torch.ones(1 << 20, device=SPYRE)
    with pytest.raises(RuntimeError):
        call(x)
    torch.spyre.synchronize()
