"""Two streams and an event: a copy from pinned memory runs beside compute, and is waited for."""

from __future__ import annotations

import time

import torch

SIZE, BATCHES = 1024, 8


def seconds(run: object) -> float:
    torch.spyre.synchronize()
    start = time.perf_counter()
    run()
    torch.spyre.synchronize()
    return time.perf_counter() - start


def main() -> None:
    weight = torch.randn(SIZE, SIZE, device="spyre")
    batches = [torch.randn(SIZE, SIZE).pin_memory() for _ in range(BATCHES)]
    copies = torch.spyre.Stream()
    compute = torch.spyre.current_stream()

    def one_after_the_other() -> list[torch.Tensor]:
        return [batch.to("spyre") @ weight for batch in batches]

    def side_by_side() -> list[torch.Tensor]:
        results, ready = [], []
        for batch in batches:
            with torch.spyre.stream(copies):
                on_card = batch.to("spyre", non_blocking=True)
                event = torch.spyre.Event()
                event.record(copies)
            ready.append((on_card, event))
        for on_card, event in ready:
            compute.wait_event(event)
            on_card.record_stream(compute)  # its memory is in use here, too
            results.append(on_card @ weight)
        return results

    for first, second in zip(one_after_the_other(), side_by_side(), strict=True):
        torch.testing.assert_close(first.cpu(), second.cpu())
    serial = min(seconds(one_after_the_other) for _ in range(5))
    overlapped = min(seconds(side_by_side) for _ in range(5))
    print(
        f"one after the other {serial * 1e3:.1f} ms, side by side {overlapped * 1e3:.1f} ms"
    )


if __name__ == "__main__":
    main()
