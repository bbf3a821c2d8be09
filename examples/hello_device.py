"""Tensors on an emulated Spyre card: move, compute, wait, and what an error looks like."""

from __future__ import annotations

import torch


def main() -> None:
    print(
        f"{torch.spyre.device_count()} cards, the first: {torch.spyre.get_device_name(0)}"
    )

    host = torch.rand(1024, 1024)
    card = host.to(torch.device("spyre:0"))
    product = torch.matmul(card, card)  # returns at once; the card works
    print("result on", product.device)
    torch.testing.assert_close(product.cpu(), host @ host)  # .cpu() waits for it

    allocated = torch.spyre.memory_allocated() / 2**20
    print(f"{allocated:.0f} MiB allocated on the current card")

    wrong = torch.tensor([0, 5000], device="spyre")
    try:
        card.index_select(0, wrong)
        torch.spyre.synchronize()
    except (IndexError, RuntimeError) as error:
        print(f"{type(error).__name__}: {str(error).splitlines()[0]}")
    print("and the card goes on:", (card + 1).sum().isfinite().item())


if __name__ == "__main__":
    main()
