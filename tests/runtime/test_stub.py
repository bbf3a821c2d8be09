"""_C.pyi names only what the extension has."""

from __future__ import annotations

import ast
from pathlib import Path

import torch_spyre
from torch_spyre import _C


def test_every_name_of_the_stub_exists() -> None:
    stub = Path(torch_spyre.__file__).with_name("_C.pyi")
    functions = [
        node.name
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("__")
    ]
    assert len(functions) > 50
    assert [name for name in functions if not hasattr(_C, name)] == []
