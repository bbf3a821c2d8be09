"""Where the cache is: our variable, then Inductor's directory."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from spyre_inductor.build import cache_location
from spyre_inductor.build.cache_location import cache_directory


def test_configured_value_wins() -> None:
    environment = {"SPYRE_CACHE_DIR": "/a", "TORCHINDUCTOR_CACHE_DIR": "/b"}
    assert cache_directory(environment, "/c") == Path("/c")
    assert cache_directory(environment) == Path("/a")


def test_default_lies_in_inductors_directory() -> None:
    assert cache_directory({"TORCHINDUCTOR_CACHE_DIR": "/b"}) == Path("/b/spyre")


def test_default_without_any_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_location.getpass, "getuser", lambda: "a:b")
    expected = Path(tempfile.gettempdir()) / "torchinductor_a_b" / "spyre"
    assert cache_directory({}) == expected


def test_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_name() -> str:
        raise KeyError("uid")

    monkeypatch.setattr(cache_location.getpass, "getuser", no_name)
    assert "torchinductor_uid_" in str(cache_directory({}))


def test_tilde_and_relative_paths_are_resolved() -> None:
    assert cache_directory({}, "~/x").is_absolute()
    assert cache_directory({}, "x").is_absolute()
