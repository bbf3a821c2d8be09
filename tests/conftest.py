"""Options and the fresh caches of every test run."""

from __future__ import annotations

import os
import tempfile

import pytest

# A run must not pass because an earlier one left a good kernel behind. Set before torch is loaded.
if "TORCHINDUCTOR_CACHE_DIR" not in os.environ:
    _CACHE = tempfile.TemporaryDirectory(prefix="spyre-test-cache-")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = _CACHE.name


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite golden files"
    )
    parser.addoption("--sweep", action="store_true", help="also run tests marked slow")


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    if config.getoption("--sweep"):
        return
    slow = [item for item in items if "slow" in item.keywords]
    items[:] = [item for item in items if "slow" not in item.keywords]
    config.hook.pytest_deselected(items=slow)
