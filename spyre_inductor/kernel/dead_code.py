"""Drops operations whose results nobody uses."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from spyre_inductor.plan.expr import symbols
from spyre_inductor.plan.kernel_plan import Operation, Stage
from spyre_inductor.plan.operations import has_effect, results, uses


def remove_dead_code(stages: Sequence[Stage]) -> list[Stage]:
    """The stages without useless operations; empty stages disappear."""
    live: set[str] = set()
    kept_stages: list[Stage] = []
    for stage in reversed(stages):
        kept: list[Operation] = []
        for op in reversed(stage.ops):
            if has_effect(op) or live.intersection(results(op)):
                live.update(uses(op, symbol_names))
                kept.append(op)
        if kept:
            kept_stages.append(dataclasses.replace(stage, ops=tuple(reversed(kept))))
    return kept_stages[::-1]


def symbol_names(expr: Any) -> Iterator[str]:
    """Names in an index expression of either form."""
    if hasattr(expr, "free_symbols"):  # sympy, while the plan is being built
        return (symbol.name for symbol in expr.free_symbols)
    return iter(symbols(expr))
