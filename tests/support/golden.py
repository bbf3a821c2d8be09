"""Golden files: text that a test makes, kept beside it and read by reviewers.

`pytest --update-golden` rewrites them. Nothing is normalised: what makes the text must be
deterministic.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
_UPDATE = "run `make golden` (pytest tests/golden --update-golden) and read the diff"
_SHOWN_LINES = 60


class GoldenFiles:
    """Compares texts with files below tests/golden, or rewrites the files."""

    def __init__(self, update: bool) -> None:
        self.update = update

    def check(self, name: str, text: str) -> None:
        """Fails unless tests/golden/`name` holds exactly `text`."""
        path = GOLDEN / name
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return
        if not path.exists():
            pytest.fail(f"no golden file {name}: {_UPDATE}")
        expected = path.read_text()
        if text != expected:
            pytest.fail(f"{name} differs: {_UPDATE}\n{_difference(expected, text)}")


def _difference(expected: str, text: str) -> str:
    lines = list(
        difflib.unified_diff(
            expected.splitlines(), text.splitlines(), "golden", "now", lineterm=""
        )
    )
    more = len(lines) - _SHOWN_LINES
    return "\n".join(lines[:_SHOWN_LINES]) + (f"\n... {more} more" if more > 0 else "")
