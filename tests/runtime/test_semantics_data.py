"""DataLoader, pinned memory and copies that do not wait, on the way to a card."""

from __future__ import annotations

import pytest
import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> dict[str, torch.Tensor | int]:
        return {"x": torch.full((2,), float(index * index)), "label": index}


class OnCard(Squares):
    """Makes its samples on the card, inside the worker."""

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((2,), float(index * index), device="spyre")


def test_loader_pins_and_batches_reach_the_card() -> None:
    seen = []
    for batch in DataLoader(Squares(), batch_size=4, pin_memory=True):
        assert batch["x"].is_pinned() and batch["label"].is_pinned()
        seen.append(batch["x"].to("spyre", non_blocking=True)[:, 0])
    assert torch.cat(seen).tolist() == [float(i * i) for i in range(8)]


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_loader_workers_after_the_device_was_used(method: str) -> None:
    torch.rand(2, device="spyre").sum().item()
    loader = DataLoader(
        Squares(),
        batch_size=4,
        num_workers=2,
        pin_memory=True,
        multiprocessing_context=method,
    )
    got = torch.cat(
        [batch["x"].to("spyre", non_blocking=True)[:, 0] for batch in loader]
    )
    assert got.tolist() == [float(i * i) for i in range(8)]


def test_spawned_workers_send_tensors_of_the_card() -> None:
    loader = DataLoader(
        OnCard(), batch_size=4, num_workers=1, multiprocessing_context="spawn"
    )
    batches = list(loader)
    assert all(batch.device.type == "spyre" for batch in batches)
    assert torch.cat(batches)[:, 0].tolist() == [float(i * i) for i in range(8)]


def test_forked_worker_that_touches_the_card_raises_the_fork_sentence() -> None:
    torch.rand(2, device="spyre").sum().item()
    loader = DataLoader(
        OnCard(), batch_size=4, num_workers=1, multiprocessing_context="fork"
    )
    with pytest.raises(
        RuntimeError, match="Cannot re-initialize Spyre in forked subprocess"
    ):
        next(iter(loader))


def test_pinned_copy_returns_before_it_is_done_and_arrives_in_order() -> None:
    host = torch.arange(1 << 20, dtype=torch.float32).pin_memory()
    card = host.to("spyre", non_blocking=True)
    doubled = card * 2
    back = torch.empty(1 << 20, pin_memory=True)
    back.copy_(doubled, non_blocking=True)
    torch.spyre.synchronize()
    assert torch.equal(back, torch.arange(1 << 20, dtype=torch.float32) * 2)


def test_pin_memory_of_a_card_tensor_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"(?i)only dense CPU tensors can be pinned"):
        torch.ones(2, device="spyre").pin_memory()
