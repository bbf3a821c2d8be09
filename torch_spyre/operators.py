"""Which operators ran through the generic path: the card's counterpart of CPU fallbacks.

An operator without a kernel of its own for spyre runs PyTorch's CPU kernel on the card's memory,
through one boxed function (ARCHITECTURE.md, Eager). Results are right and nothing is copied, but a
call costs more than a direct one, and some calls wait for the stream. Every such call is counted.
"""

from __future__ import annotations

from typing import NamedTuple

from torch_spyre import _C

__all__ = [
    "OperatorCalls",
    "operator_calls",
    "operator_summary",
    "reset_operator_calls",
]


class OperatorCalls(NamedTuple):
    """Calls of one operator through the generic path."""

    inline: int  # ran at once on the calling thread
    queued: int  # queued on the current stream
    waited: int  # waited for the stream first: the result's shape depends on data

    @property
    def total(self) -> int:
        """All calls."""
        return self.inline + self.queued + self.waited


def operator_calls() -> dict[str, OperatorCalls]:
    """Calls per operator ("aten::nonzero") since start or reset_operator_calls(), most first."""
    rows = {name: OperatorCalls(*counts) for name, *counts in _C.operator_counters()}
    called = {name: calls for name, calls in rows.items() if calls.total > 0}
    return dict(sorted(called.items(), key=lambda row: (-row[1].total, row[0])))


def reset_operator_calls() -> None:
    """Sets all counts to zero."""
    _C.reset_operator_counters()


def operator_summary(limit: int = 30) -> str:
    """A table of operator_calls(), the `limit` most called operators."""
    calls = operator_calls()
    lines = [f"{'operator':<48} {'inline':>9} {'queued':>9} {'waited':>9}"]
    for name, row in list(calls.items())[:limit]:
        lines.append(f"{name:<48} {row.inline:>9} {row.queued:>9} {row.waited:>9}")
    if len(calls) > limit:
        lines.append(f"... and {len(calls) - limit} more operators")
    return "\n".join(lines)
