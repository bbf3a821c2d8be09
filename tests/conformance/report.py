"""Outcomes of a sweep as counts per dtype and mode (JSON), and as a page of the documentation."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import torch

from tests.conformance.exceptions import is_expected
from tests.conformance.workers import Outcome

TITLES = {
    "ops": "Operators (`op_db`)",
    "modules": "Modules (`module_db`)",
    "optimizers": "Optimizers (`optim_db`)",
}
Counts = dict[str, dict[str, dict[str, Counter[str]]]]  # suite, dtype, mode


def kind_of(text: str) -> str:
    return text if text in ("passed", "no result") else "failed"


def counts_of(results: dict[str, Outcome]) -> Counts:
    """How often each kind of outcome occurs."""
    counts: Counts = {}
    for key, outcome in results.items():
        suite, _, dtype = key.split("|")
        for mode, text in outcome.items():
            row = counts.setdefault(suite, {}).setdefault(dtype, {})
            row.setdefault(mode, Counter())[kind_of(text)] += 1
    return counts


def write_counts(path: Path, results: dict[str, Outcome]) -> None:
    page = {"torch": torch.__version__, "counts": counts_of(results)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(page, indent=1) + "\n")


def table(rows: dict[str, dict[str, Counter[str]]]) -> list[str]:
    modes = list(dict.fromkeys(mode for row in rows.values() for mode in row))
    lines = ["| dtype | " + " | ".join(modes) + " |", "|---" * (len(modes) + 1) + "|"]
    total: dict[str, Counter[str]] = {mode: Counter() for mode in modes}
    for dtype, row in rows.items():
        cells = [row.get(mode, Counter()) for mode in modes]
        for mode, cell in zip(modes, cells, strict=True):
            total[mode] += cell
        lines.append(f"| {dtype} | " + " | ".join(map(cell_text, cells)) + " |")
    lines.append("| all | " + " | ".join(cell_text(total[m]) for m in modes) + " |")
    return lines


def cell_text(cell: Counter[str]) -> str:
    return f"{cell['passed']} / {cell['failed']}"


def write_report(
    path: Path,
    results: dict[str, Outcome],
    exceptions: dict[str, str],
    samples: int,
) -> None:
    """The page: a table per suite, then the exceptions."""
    lines = [
        "# Eager conformance",
        "",
        f"Written by `python -m tests.conformance.sweep --report docs/{path.name}` with torch "
        f"{torch.__version__}; do not edit.",
        f"At most {samples} samples of an entry in each mode, evenly spread over torch's own.",
        "",
        "Results on the card against CPU eager on the same inputs and seeds, at "
        "`torch.testing.assert_close`'s",
        "default tolerance of the dtype; random operators must draw the CPU's numbers. Each "
        "cell counts entries:",
        "passed / failed. An entry whose samples the CPU itself cannot run in a mode is not "
        "counted.",
        "`queued` is forward behind other work, so that nothing runs on the calling thread; "
        "`other card` has",
        "its tensors on a card that is not the current one; `captured` is recorded in a graph and "
        "replayed, float32",
        "only (what `tests/conformance/capture_refusals.py` lists may be refused, because the host "
        "needs data, and",
        "is not counted); `errors` are the entry's wrong inputs, which must raise the exception "
        "type that op_db names.",
        "",
    ]
    counts = counts_of(results)
    for suite, title in TITLES.items():
        if suite in counts:
            entries = {k.split("|")[1] for k in results if k.startswith(suite + "|")}
            lines += [f"## {title}: {len(entries)} entries", ""]
            lines += [*table(counts[suite]), ""]
    lines += ["## Exceptions", ""]
    if not exceptions:
        lines += ["None.", ""]
    for pattern, reason in exceptions.items():
        lines.append(f"- `{pattern.replace(chr(92), '')}`: {reason}.")
    lines += ["", "## Open differences", ""]
    lines += [
        f"- `{key} {mode}`"
        for key, outcome in sorted(results.items())
        for mode, text in outcome.items()
        if kind_of(text) == "failed" and not is_expected(key, mode)
    ] or ["None."]
    path.write_text("\n".join(lines).rstrip() + "\n")
