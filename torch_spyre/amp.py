"""Mixed precision under CUDA's names; torch.amp does the work."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.amp import GradScaler as _GradScaler

__all__ = [
    "GradScaler",
    "autocast",
    "custom_bwd",
    "custom_fwd",
]


class autocast(torch.amp.autocast):
    """torch.autocast for spyre, with torch.cuda.amp.autocast's argument order."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: torch.dtype = torch.float16,
        cache_enabled: bool = True,
    ) -> None:
        super().__init__(
            "spyre", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled
        )


class GradScaler(_GradScaler):
    """torch.amp.GradScaler for spyre."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("spyre", *args, **kwargs)


custom_fwd = functools.partial(torch.amp.custom_fwd, device_type="spyre")
custom_bwd = functools.partial(torch.amp.custom_bwd, device_type="spyre")
