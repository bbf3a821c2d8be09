"""docs/api.md says what exists, and names that are missing have a reason."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import torch

DOCS = Path(__file__).parents[2] / "docs"


def test_every_missing_name_has_a_reason() -> None:
    page = runpy.run_path(str(DOCS / "api_table.py"))["table"]()
    assert len(page.splitlines()) > len(torch.cuda.__all__)


def test_every_name_in_the_page_exists() -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    names = re.findall(r"^\| `\w+` \| `(\w+)` \|", page, re.MULTILINE)
    assert len(names) > 70
    assert [name for name in names if not hasattr(torch.spyre, name)] == []
