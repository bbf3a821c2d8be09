"""Shows what the compiler makes of a function: its kernels, the plan, and the C++ source."""

from __future__ import annotations

import json
import time

import torch


def softmax_with_bias(scores: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Scores [rows, columns], bias [columns]."""
    return torch.softmax(scores * 0.125 + bias, dim=-1)


def main() -> None:
    started = time.time()
    scores = torch.randn(256, 512, device="spyre")
    bias = torch.randn(512, device="spyre")
    result = torch.compile(softmax_with_bias, backend="spyre")(scores, bias)
    expected = softmax_with_bias(scores.cpu(), bias.cpu())
    torch.testing.assert_close(result.cpu(), expected)

    from spyre_inductor.build.entry import PLAN_FILE, SOURCE_FILE
    from spyre_inductor.build.eviction import stored_entries
    from spyre_inductor.cli.cache import kernel_names
    from spyre_inductor.launch.async_compile import current_cache

    cache = current_cache()
    for entry in stored_entries(cache.directory):
        if entry.last_used < started:
            continue
        folder = cache.entry_directory(entry.key)
        print(f"// kernels: {', '.join(kernel_names(folder))}")
        print(f"// folder:  {folder}\n")
        print((folder / SOURCE_FILE).read_text())
        plan = json.dumps(json.loads((folder / PLAN_FILE).read_text()), indent=1)
        print(f"// its plan begins:\n{plan[:600]}\n...")


if __name__ == "__main__":
    main()
