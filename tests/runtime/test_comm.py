"""Copies among the cards of one process: torch.spyre.comm, DataParallel, parallel_apply."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable

import pytest
import torch
from torch.nn.parallel import parallel_apply, replicate
from torch.spyre import comm

CARDS = ["spyre:0", "spyre:1"]


def model() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)
    )


@pytest.mark.parametrize("source", ["cpu", "spyre:0"])
def test_data_parallel_trains_like_one_card(source: str) -> None:
    """Seven rows on two cards: chunks of different sizes."""
    one, many = model(), model().to("spyre")
    parallel = torch.nn.DataParallel(many)
    assert parallel.device_ids == list(range(torch.spyre.device_count()))
    x = torch.randn(7, 6)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (one, many)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # one about NCCL is the CPU build's habit
        for _ in range(3):
            for net, given, optimizer in zip(
                (one, parallel), (x, x.to(source)), optimizers, strict=True
            ):
                optimizer.zero_grad()
                out = net(given)
                out.square().sum().backward()
                optimizer.step()
            assert out.device == torch.device("spyre:0")
    for ours, expected in zip(many.parameters(), one.parameters(), strict=True):
        torch.testing.assert_close(ours.cpu(), expected)


def test_data_parallel_keeps_buffers_of_the_first_card() -> None:
    x = torch.randn(8, 4)
    net = torch.nn.BatchNorm1d(4)
    parallel = torch.nn.DataParallel(copy.deepcopy(net).to("spyre"))
    parallel(x.to("spyre"))
    net(x[:4])
    torch.testing.assert_close(parallel.module.running_mean.cpu(), net.running_mean)


def test_replicas_run_on_their_own_cards() -> None:
    replicas = replicate(model().to("spyre"), [0, 1])
    inputs = comm.scatter(torch.randn(4, 6), [0, 1])
    outputs = parallel_apply(replicas, [(x,) for x in inputs])
    assert [str(out.device) for out in outputs] == CARDS


def test_broadcast_gives_the_owner_itself() -> None:
    x = torch.randn(3, 2, device="spyre:1")
    first, second = comm.broadcast(x, ["spyre:0", 1])
    assert second is x and str(first.device) == "spyre:0"
    torch.testing.assert_close(first.cpu(), x.cpu())
    out = [torch.empty(3, 2, device=card) for card in CARDS]
    assert comm.broadcast(x, out=out)[0] is out[0]
    torch.testing.assert_close(out[0].cpu(), x.cpu())


def test_broadcast_coalesced_keeps_order_and_dtypes() -> None:
    given = [
        torch.ones(3, device="spyre"),
        torch.arange(4, device="spyre"),
        torch.eye(3, device="spyre").to_sparse(),
    ]
    copies = comm.broadcast_coalesced(given, [0, 1])
    assert all(a is b for a, b in zip(copies[0], given, strict=True))
    for ours, expected in zip(copies[1], given, strict=True):
        assert str(ours.device) == "spyre:1" and ours.dtype == expected.dtype
        torch.testing.assert_close(ours.cpu(), expected.cpu())


@pytest.mark.parametrize("source", ["cpu", "spyre:1"])
@pytest.mark.parametrize("with_streams", [False, True])
@pytest.mark.parametrize("sizes", [None, [1, 4], [5, 0]])
def test_scatter_and_gather(
    source: str, with_streams: bool, sizes: list[int] | None
) -> None:
    x = torch.randn(2, 5)
    streams = [torch.spyre.Stream(card) for card in CARDS] if with_streams else None
    parts = comm.scatter(x.to(source), [0, 1], sizes, 1, streams)
    assert [str(part.device) for part in parts] == CARDS
    assert [part.size(1) for part in parts] == (sizes or [3, 2])
    torch.spyre.synchronize(0), torch.spyre.synchronize(1)
    for destination in ("cpu", "spyre:1", None):
        together = comm.gather(parts, 1, destination)
        assert together.device == torch.device(destination or "spyre:0")
        torch.testing.assert_close(together.cpu(), x)


def test_scatter_and_gather_into_outputs() -> None:
    x = torch.randn(5, 2)
    out = [torch.empty(2, 2, device=CARDS[0]), torch.empty(3, 2, device=CARDS[1])]
    parts = comm.scatter(x, out=out)
    assert parts[1] is out[1]
    into = torch.empty(5, 2)
    assert comm.gather(parts, out=into) is into
    torch.testing.assert_close(into, x)


def test_sums_of_cards() -> None:
    given = [torch.full((2,), 1.0 + i, device=card) for i, card in enumerate(CARDS)]
    assert comm.reduce_add(given, 1).tolist() == [3.0, 3.0]
    (total,) = comm.reduce_add_coalesced([[t] for t in given], 0)
    assert str(total.device) == "spyre:0" and total.tolist() == [3.0, 3.0]


def test_pytorchs_own_copies_do_not_know_the_card() -> None:
    """When they do, torch_spyre/comm.py can go. A CPU build has none."""
    original = getattr(torch._C._scatter, "__wrapped__", None)
    if original is not None:
        with pytest.raises(RuntimeError):
            original(torch.ones(2, device="spyre"), [0, 1], None, 0, None)


BAD: dict[str, tuple[Callable[[], object], str]] = {
    "no device": (lambda: comm.scatter(torch.ones(2), []), "at least one device"),
    "alien card": (lambda: comm.broadcast(torch.ones(2), [0, 99]), "99"),
    "sizes": (lambda: comm.scatter(torch.ones(4), [0, 1], [1, 2]), "sum to size 4"),
    "size count": (lambda: comm.scatter(torch.ones(4), [0, 1], [4]), "1 chunk sizes"),
    "negative": (lambda: comm.scatter(torch.ones(4), [0, 1], [5, -1]), "negative"),
    "streams": (lambda: comm.scatter(torch.ones(4), [0, 1], streams=[None]), "stream"),
    "host output": (
        lambda: comm.broadcast(torch.ones(2), out=[torch.ones(2)]),
        "index 0 is on cpu",
    ),
    "output shape": (
        lambda: comm.broadcast(torch.ones(2), out=[torch.ones(3, device="spyre")]),
        r"shape \[2\]",
    ),
    "host input": (lambda: comm.gather([torch.ones(2)]), "index 0 is on cpu"),
    "shapes": (
        lambda: comm.gather([torch.ones(2, n, device="spyre") for n in (2, 3)]),
        "index 1 has shape",
    ),
    "rank": (
        lambda: comm.gather(
            [torch.ones(2, device="spyre"), torch.ones(2, 1, device="spyre")]
        ),
        "index 1 has shape",
    ),
    "out shape": (
        lambda: comm.gather([torch.ones(2, device="spyre")], out=torch.ones(3)),
        r"expected out of shape \[2\]",
    ),
    "not on the first": (
        lambda: comm.broadcast_coalesced([torch.ones(2, device="spyre:1")], [0, 1]),
        "index 0 is on spyre:1",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    call, message = BAD[name]
    with pytest.raises(RuntimeError, match=message):
        call()
