"""Our rule for the cache directory is torch's own, also when torch moves it."""

from __future__ import annotations

from pathlib import Path

import pytest
from torch._inductor.runtime import cache_dir_utils
from torch._inductor.utils import fresh_cache

from spyre_inductor import config
from spyre_inductor.build.cache_location import cache_directory


def test_default_is_torchs_default() -> None:
    expected = Path(cache_dir_utils.default_cache_dir()) / "spyre"
    assert cache_directory({}) == expected


def test_fresh_cache_moves_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPYRE_CACHE_DIR", raising=False)
    before = config.kernel_cache_directory()
    with fresh_cache():
        inside = config.kernel_cache_directory()
        assert inside == Path(cache_dir_utils.cache_dir()) / "spyre"
    assert before not in (inside, inside.parent)


def test_patched_config_wins(tmp_path: Path) -> None:
    with config.patch(cache_dir=str(tmp_path)):
        assert config.kernel_cache_directory() == tmp_path
