"""Compares Inductor's graph patterns with what passes/pattern_tables.py says about them.

Run as a program, in a process that has built no table yet. Prints how many patterns each table
added, and those that could match a graph which does not build their table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import torch
import torch._inductor.compile_fx  # before its parts
from torch._inductor import pattern_matcher
from torch._inductor.fx_passes import joint_graph, post_grad

from spyre_inductor.passes import pattern_tables
from spyre_inductor.passes.pattern_tables import Table


def tables_of(module: object) -> Iterator[pattern_matcher.PatternMatcherPass]:
    for value in vars(module).values():
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, pattern_matcher.PatternMatcherPass):
                yield item


def registered() -> dict[int, pattern_matcher.PatternEntry]:
    """Every pattern of the two modules, by identity."""
    return {
        id(entry): entry
        for module in (joint_graph, post_grad)
        for table in tables_of(module)
        for entries in table.patterns.values()
        for entry in entries
    }


def targets_of(pattern: object) -> Iterator[frozenset[object]]:
    """For each operator of a pattern, what it may be."""
    seen: set[int] = set()
    waiting = [pattern]
    while waiting:
        value = waiting.pop()
        if isinstance(value, (list, tuple)):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, pattern_matcher.PatternExpr) and id(value) not in seen:
            seen.add(id(value))
            waiting += vars(value).values()
            if isinstance(value, pattern_matcher._TargetExpr):
                yield frozenset(value.fns)


def is_known(entry: pattern_matcher.PatternEntry, table: Table) -> bool:
    """Whether some operator of the pattern, whichever it is, builds the table."""
    choices = list(targets_of(entry.pattern))
    if any(all(table.needed_by(frozenset((o,))) for o in c) for c in choices):
        return True
    # Only a build with CUDA or XPU has what the online softmax is for.
    return any(pattern_tables._TRITON_SOFTMAX & c for c in choices) and not (
        torch.cuda.is_available() or torch.xpu.is_available()
    )


def main() -> None:
    card = torch.device("spyre", 0)
    post_table = Table(post_grad.lazy_init, pattern_tables.needs_onednn)
    counts, unknown = [], []
    before = set(registered())
    for table in (*pattern_tables.joint_tables(), post_table):
        table.build(*(() if table is post_table else (card,)))
        new = {key: entry for key, entry in registered().items() if key not in before}
        before |= set(new)
        counts.append(len(new))
        unknown += [
            str(entry.pattern) for entry in new.values() if not is_known(entry, table)
        ]
    print(json.dumps({"patterns": counts, "unknown": unknown}))


if __name__ == "__main__":
    main()
