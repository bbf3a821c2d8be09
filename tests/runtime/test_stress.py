"""Long runs: launches over many streams, threads, and allocation churn. Left out of `make test`.

Full size on two host cores: a million launches 52 s (153 s beside builds at load 6), eight threads
1 s; a minute of churn: statistics balance to zero, the resident set does not grow.
"""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.slow
spyre = torch.spyre
STREAMS = 8
LAUNCHES = 1_000_000
CHURN_SECONDS = 60


def test_a_million_launches_over_eight_streams_with_events() -> None:
    """Each stream adds 1 to its own tensor; every 64th round it waits for its neighbour."""
    streams = [spyre.Stream() for _ in range(STREAMS)]
    counters = [torch.zeros(16, device="spyre") for _ in range(STREAMS)]
    big = [torch.zeros(1 << 17, device="spyre") for _ in range(STREAMS)]
    spyre.synchronize()
    rounds = LAUNCHES // STREAMS
    for number in range(rounds):
        for index, stream in enumerate(streams):
            spyre.set_stream(stream)
            counters[index].add_(1)
            if number % 64 == 0:
                big[index].add_(1)  # queued: the additions behind it are queued as well
                stream.wait_event(streams[index - 1].record_event())
    spyre.set_stream(spyre.default_stream())
    spyre.synchronize()
    for index in range(STREAMS):
        assert counters[index].min().item() == counters[index].max().item() == rounds
        assert big[index].min().item() == big[index].max().item() == -(-rounds // 64)


def test_eight_threads_launch_on_both_cards() -> None:
    failures: list[str] = []

    def work(number: int) -> None:
        device = torch.device("spyre", number % 2)
        with spyre.stream(spyre.Stream(device)):
            x = torch.zeros(1 << 15, device=device)
            for _ in range(20_000):
                x.add_(1)
            if x.min().item() != 20_000 or x.max().item() != 20_000:
                failures.append(f"thread {number}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def resident_bytes() -> int:
    """The process's resident set (proc(5), statm)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf(
        "SC_PAGESIZE"
    )


def churn(seconds: float, seed: int) -> None:
    """Random sizes, lifetimes and streams; every tensor keeps the value that was written to it."""
    choose = random.Random(seed)
    streams = [spyre.default_stream(), spyre.Stream(), spyre.Stream()]
    live: list[tuple[torch.Tensor, float]] = []
    end = time.monotonic() + seconds
    value = 0.0
    while time.monotonic() < end:
        value += 1.0
        numel = int(2 ** choose.uniform(0, 20))
        stream = choose.choice(streams)
        with spyre.stream(stream):
            live.append((torch.full((numel,), value, device="spyre"), value))
        if len(live) > 200:
            tensor, expected = live.pop(choose.randrange(len(live)))
            if choose.random() < 0.05:
                spyre.synchronize()
                assert tensor[-1].item() == expected
            if choose.random() < 0.3:
                tensor.record_stream(choose.choice(streams))


def test_allocation_churn_balances_to_zero() -> None:
    spyre.synchronize()
    spyre.empty_cache()
    before = spyre.memory_stats()
    churn(
        CHURN_SECONDS / 10, seed=0
    )  # first uses: threads, code, tables of the allocator
    spyre.synchronize()
    spyre.empty_cache()
    resident = resident_bytes()
    churn(CHURN_SECONDS, seed=1)
    spyre.synchronize()
    spyre.empty_cache()
    after = spyre.memory_stats()
    for metric in ("allocation", "allocated_bytes", "active_bytes", "reserved_bytes"):
        name = f"{metric}.all.current"
        assert after[name] == before[name], name
    assert resident_bytes() - resident < 32 << 20
