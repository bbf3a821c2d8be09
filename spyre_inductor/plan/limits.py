"""Figures of the card that plans are checked against."""

from __future__ import annotations

CORES = 32
STICK_BYTES = 128
# LX of one core that a kernel's tiles may use; the rest of its 2 MB is the runtime's.
LX_BUDGET_BYTES = 1_625_344
