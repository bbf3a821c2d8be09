"""Cases that may differ from CPU eager, each with its reason: at most five."""

from __future__ import annotations

# "suite|entry|dtype" and mode -> reason
EXCEPTIONS: dict[tuple[str, str], str] = {}
