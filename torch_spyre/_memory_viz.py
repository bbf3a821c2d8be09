"""torch.cuda._memory_viz, which reads our snapshots, under torch.spyre; loaded at its first use."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # inspect asks every module for __file__ and its like
        raise AttributeError(name)
    from torch.cuda import _memory_viz

    return getattr(_memory_viz, name)
