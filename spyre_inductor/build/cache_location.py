"""Where the kernel cache is, by the rules torch uses for its own, without importing torch."""

from __future__ import annotations

import getpass
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path


def cache_directory(environment: Mapping[str, str], configured: str = "") -> Path:
    """`configured`, else SPYRE_CACHE_DIR, else "spyre" in Inductor's cache directory.

    Source: torch/_inductor/runtime/cache_dir_utils.py (torch 2.13) for Inductor's directory.
    """
    chosen = configured or environment.get("SPYRE_CACHE_DIR", "")
    if chosen:
        return Path(chosen).expanduser().absolute()
    inductor = environment.get("TORCHINDUCTOR_CACHE_DIR")
    return Path(inductor or _default_inductor_directory()).absolute() / "spyre"


def _default_inductor_directory() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, ModuleNotFoundError, OSError):
        user = f"uid_{os.getuid()}"
    return os.path.join(
        tempfile.gettempdir(), "torchinductor_" + re.sub(r'[\\/:*?"<>|]', "_", user)
    )
