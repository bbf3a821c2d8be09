"""The `golden` fixture."""

from __future__ import annotations

import pytest

from tests.support.golden import GoldenFiles


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> GoldenFiles:
    """Golden files, rewritten under --update-golden."""
    return GoldenFiles(request.config.getoption("--update-golden"))
