"""A user's allocator replaces the caching one before first use."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from tests.runtime.test_registration import run_python

SOURCE = """
#include <stdlib.h>
static long live = 0;
extern "C" void* take(size_t nbytes, int device, void* stream) {
  if (nbytes > (size_t{1} << 40)) return nullptr;
  ++live;
  return aligned_alloc(128, (nbytes + 127) / 128 * 128);
}
extern "C" void give(void* p, size_t nbytes, int device, void* stream) { --live; free(p); }
extern "C" long count() { return live; }
"""

USE = """
import ctypes, torch
allocator = torch.spyre.memory.SpyrePluggableAllocator({path!r}, "take", "give")
torch.spyre.memory.change_current_allocator(allocator)
x = torch.arange(10., device="spyre") * 2
big = torch.ones(1 << 22, device="spyre") + 1
count = ctypes.CDLL({path!r}).count
print(x.sum().item(), big.min().item(), count() >= 2, torch.spyre.get_allocator_backend())
try:
    torch.empty(1 << 50, dtype=torch.uint8, device="spyre")
except torch.OutOfMemoryError as error:
    print("gave no memory" in str(error))
del x, big
torch.spyre.synchronize()
print(count())
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_a_users_allocator_serves_everything(tmp_path: Path) -> None:
    source, library = tmp_path / "allocator.cpp", tmp_path / "allocator.so"
    source.write_text(SOURCE)
    subprocess.run(
        ["g++", "-shared", "-fPIC", str(source), "-o", str(library)], check=True
    )
    result = run_python(USE.format(path=str(library)))
    assert result.stdout.split() == ["90.0", "2.0", "True", "pluggable", "True", "0"], (
        result.stdout + result.stderr
    )


def test_it_is_too_late_after_first_use(tmp_path: Path) -> None:
    torch.empty(1, device="spyre")
    libc = torch.spyre.memory.SpyrePluggableAllocator("libc.so.6", "malloc", "free")
    with pytest.raises(RuntimeError, match="already initialized"):
        torch.spyre.memory.change_current_allocator(libc)
    assert torch.spyre.get_allocator_backend() == "native"
