"""Which C++ layer may include which, and that kernels include nothing but their headers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.sources import REPOSITORY, includes_of, library_files, name_of

LAYERS = ("device", "runtime", "aten", "bindings")  # lower layers first
CSRC = REPOSITORY / "torch_spyre" / "csrc"
FOREIGN_TO_DEVICE = ("torch/", "ATen/", "c10/", "Python.h", "pybind11/", "kineto")
KERNEL_HEADERS = ("spyre/kernel_abi.h", "spyre_kernels/")
# The one kernel header on a library: only kernels with a special function pay for it.
ON_A_LIBRARY = ("special.h", "ATen/native/Math.h")


def forbidden(path: Path, mark: str, header: str) -> str | None:
    """Why `path` may not include `header`, or None."""
    if path.is_relative_to(REPOSITORY / "codegen_templates"):
        if (path.name, header) == ON_A_LIBRARY:
            return None
        near = mark == '"' and "/" not in header  # a header of its own folder
        if mark == "<" or not (near or header.startswith(KERNEL_HEADERS)):
            return "kernels include no system header: it costs more than the kernel"
        return None
    if not path.is_relative_to(CSRC):
        return None if path.name != "kernel_abi.h" else "the ABI includes nothing"
    layer = path.relative_to(CSRC).parts[0]
    if layer == "device" and header.startswith(FOREIGN_TO_DEVICE):
        return "layer 0 knows no torch"
    above = LAYERS[LAYERS.index(layer) + 1 :]
    if header.split("/")[0] in above:
        return f"{layer} lies below {header.split('/')[0]}"
    return None


def test_includes_follow_the_layers() -> None:
    found = [
        f"{name_of(path)} includes {header}: {why}"
        for path in library_files(".h", ".cpp", ".jinja")
        for mark, header in includes_of(path)
        if (why := forbidden(path, mark, header))
    ]
    assert not found, "\n".join(found)


def test_csrc_has_only_these_layers() -> None:
    assert {path.name for path in CSRC.iterdir() if path.is_dir()} <= set(LAYERS)


def test_every_header_is_guarded() -> None:
    for path in library_files(".h"):
        text = path.read_text()
        assert "#pragma once" in text or "#ifndef" in text, f"{name_of(path)}: no guard"


@pytest.mark.parametrize(
    ("file", "mark", "header"),
    [
        ("torch_spyre/csrc/device/x.cpp", "<", "c10/core/Device.h"),
        ("torch_spyre/csrc/device/x.h", '"', "runtime/stream.h"),
        ("torch_spyre/csrc/runtime/x.h", '"', "aten/copy.h"),
        ("torch_spyre/csrc/aten/x.cpp", '"', "bindings/module.h"),
        ("codegen_templates/include/spyre_kernels/x.h", "<", "cmath"),
        ("codegen_templates/kernels/x.cpp.jinja", "<", "immintrin.h"),
        ("torch_spyre/include/spyre/kernel_abi.h", "<", "stdint.h"),
    ],
)
def test_rules_catch(file: str, mark: str, header: str) -> None:
    assert forbidden(REPOSITORY / file, mark, header)


@pytest.mark.parametrize(
    ("file", "mark", "header"),
    [
        ("torch_spyre/csrc/device/x.cpp", "<", "vector"),
        ("torch_spyre/csrc/runtime/x.h", '"', "device/stream.h"),
        ("torch_spyre/csrc/runtime/x.h", "<", "c10/core/Device.h"),
        ("codegen_templates/kernels/x.cpp.jinja", '"', "spyre_kernels/vec.h"),
    ],
)
def test_rules_allow(file: str, mark: str, header: str) -> None:
    assert forbidden(REPOSITORY / file, mark, header) is None
