"""Builds the card with its C++ tests as one plain binary, and runs it. Needs no torch.

Under a sanitizer: `make asan`, `make ubsan`, `make tsan`.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

SCRIPT = Path(__file__).with_name("build_and_run.sh")
TIMEOUT_SECONDS = 600


def test_card_passes_its_own_tests() -> None:
    done = subprocess.run(
        [SCRIPT, "plain"],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert ", 0 failed checks" in done.stdout
