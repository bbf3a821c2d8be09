"""CUDA's range markers; ranges land in torch.profiler's trace as user annotations."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator

import torch

__all__ = [
    "mark",
    "range",
    "range_end",
    "range_pop",
    "range_push",
    "range_start",
]

_stack = threading.local()
_open_ranges: dict[int, torch.autograd.profiler.record_function] = {}
_range_ids = itertools.count(1)


def _ranges() -> list[torch.autograd.profiler.record_function]:
    if not hasattr(_stack, "ranges"):
        _stack.ranges = []
    return _stack.ranges


def range_push(msg: str) -> int:
    """Opens a range nested in this thread's open ones; gives its depth, from 0."""
    opened = torch.autograd.profiler.record_function(msg)
    opened.__enter__()
    _ranges().append(opened)
    return len(_ranges()) - 1


def range_pop() -> int:
    """Closes this thread's innermost range; gives its depth, or -1 when none is open."""
    if not _ranges():
        return -1
    _ranges().pop().__exit__(None, None, None)
    return len(_ranges())


def range_start(msg: str) -> int:
    """Opens a range that range_end() closes by the id given."""
    opened = torch.autograd.profiler.record_function(msg)
    opened.__enter__()
    range_id = next(_range_ids)
    _open_ranges[range_id] = opened
    return range_id


def range_end(range_id: int) -> None:
    """Closes the range that range_start() opened."""
    _open_ranges.pop(range_id).__exit__(None, None, None)


def mark(msg: str) -> None:
    """Marks one instant."""
    with torch.autograd.profiler.record_function(msg):
        pass


@contextlib.contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """A range around a block; `msg` may hold str.format() fields for the other arguments."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
