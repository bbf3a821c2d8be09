"""Writes docs/api.md: which names of torch.cuda exist as torch.spyre, and why others do not.

python docs/api_table.py            # rewrites docs/api.md
"""

from __future__ import annotations

from pathlib import Path

import torch

TARGET = Path(__file__).with_name("api.md")

# CUDA names whose Spyre counterpart has another name.
RENAMED = {
    "CUDAGraph": "SpyreGraph",
    "CUDAPluggableAllocator": "SpyrePluggableAllocator",
    "CudaError": "SpyreError",
}

_CUDA_LIBRARY = (
    "a handle, constant or raw binding of CUDA's own libraries, which do not run here"
)
REASONS = {
    "DeferredCudaCallError": "no call is deferred: seeds are set at once",
    "GreenContext": "a card's cores share one team of threads; no part of it can be set aside",
    "cudaStatus": _CUDA_LIBRARY,
    "cudart": _CUDA_LIBRARY,
    "current_blas_handle": _CUDA_LIBRARY,
    "current_solver_handle": _CUDA_LIBRARY,
    "has_half": _CUDA_LIBRARY,
    "has_magma": _CUDA_LIBRARY,
    "jiterator": "takes CUDA C++ source; a fused elementwise kernel comes from torch.compile",
}


def reason(name: str) -> str:
    """Why a name of torch.cuda has no counterpart; KeyError when nobody wrote it down."""
    return REASONS[name]


def table() -> str:
    """The page: one row per public name of torch.cuda, then the names only Spyre has."""
    rows = ["| torch.cuda | torch.spyre | note |", "|---|---|---|"]
    present = 0
    for name in sorted(torch.cuda.__all__, key=str.lower):
        here = RENAMED.get(name, name)
        if hasattr(torch.spyre, here):
            present += 1
            rows.append(f"| `{name}` | `{here}` | |")
        else:
            rows.append(f"| `{name}` | | {reason(name)} |")
    total = len(torch.cuda.__all__)
    head = (
        "# torch.spyre against torch.cuda\n\n"
        f"Written by `python docs/api_table.py`; torch {torch.__version__.split('+')[0]}. "
        f"{present} of {total} names exist; argument forms and return types are CUDA's.\n\n"
    )
    return head + "\n".join(rows) + "\n\n" + own_names()


def own_names() -> str:
    """The second table: public names of torch.spyre that torch.cuda has not, with what they do."""
    rows = ["## Only in torch.spyre", "", "| name | what it is |", "|---|---|"]
    known = {*torch.cuda.__all__, *RENAMED.values()}
    for name, value in sorted(vars(torch.spyre).items()):
        module = getattr(value, "__module__", None) or ""
        if name.startswith("_") or name in known or hasattr(torch.cuda, name):
            continue
        if module.startswith("torch_spyre") and value.__doc__:
            rows.append(f"| `{name}` | {value.__doc__.splitlines()[0]} |")
    return "\n".join(rows) + "\n"


def main() -> None:
    """Rewrites the page."""
    TARGET.write_text(table(), encoding="utf-8")


if __name__ == "__main__":
    main()
