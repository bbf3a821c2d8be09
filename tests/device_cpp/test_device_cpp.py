"""Builds the card with its C++ tests as one plain binary, and runs it. Needs no torch.

The sanitizers build everything again, so they are slow tests; `make asan` runs one too.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("build_and_run.sh")
TIMEOUT_SECONDS = 600


def run_variant(variant: str) -> None:
    """Fails with what the C++ tests of the variant printed."""
    done = subprocess.run(
        [SCRIPT, variant],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert ", 0 failed checks" in done.stdout


def test_card_passes_its_own_tests() -> None:
    run_variant("plain")


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", ["asan", "ubsan", "tsan"])
def test_card_passes_its_own_tests_under(sanitizer: str) -> None:
    run_variant(sanitizer)
