"""Trains a small classifier on two spirals: forward, backward and loss compiled for the card."""

from __future__ import annotations

import math

import torch

POINTS, STEPS = 512, 200


def spirals(generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Points [2 * POINTS, 2] float32 and their spiral, 0 or 1, int64."""
    angle = torch.rand(POINTS, generator=generator).sqrt() * 3 * math.pi
    arm = torch.stack((angle.cos(), angle.sin()), 1) * angle[:, None] / 10
    points = torch.cat((arm, -arm)) + 0.02 * torch.randn(
        2 * POINTS, 2, generator=generator
    )
    return points, torch.arange(2).repeat_interleave(POINTS)


def main() -> None:
    torch.manual_seed(0)
    points, labels = (t.to("spyre") for t in spirals(torch.Generator().manual_seed(0)))
    layers = [torch.nn.Linear(2, 64), torch.nn.GELU()]
    layers += [torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 2)]
    model = torch.nn.Sequential(*layers).to("spyre")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    @torch.compile(backend="spyre")
    def loss_of(points: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(model(points), labels)

    for step in range(STEPS + 1):
        optimizer.zero_grad()
        loss = loss_of(points, labels)
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step:3}  loss {loss.item():.4f}")
    with torch.no_grad():
        right = (model(points).argmax(1) == labels).float().mean().item()
    print(f"{right:.1%} of the points are on the right spiral")


if __name__ == "__main__":
    main()
