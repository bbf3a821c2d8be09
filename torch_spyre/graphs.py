"""Graphs: work captured from a stream and replayed with one enqueue. Names are CUDA's."""

from __future__ import annotations

import gc
from typing import Any

import torch

from torch_spyre import _C, streams
from torch_spyre.graphed_callables import make_graphed_callables
from torch_spyre.streams import is_current_stream_capturing

__all__ = [
    "SpyreGraph",
    "graph",
    "graph_pool_handle",
    "is_current_stream_capturing",
    "make_graphed_callables",
]

_CAPTURE_MODES = ("global", "thread_local", "relaxed", "default")


def graph_pool_handle() -> tuple[int, int]:
    """A new memory pool's id, to share between graphs."""
    return _C.new_mempool_id()


class SpyreGraph(torch._C._acceleratorGraph):
    """A captured graph.

    Args:
        keep_graph: leave instantiate() to the caller or to the first replay.
    """

    def __new__(cls, keep_graph: bool = False) -> SpyreGraph:
        return super().__new__(cls, keep_graph)

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(keep_graph)

    def capture_begin(
        self,
        pool: tuple[int, int] | None = None,
        capture_error_mode: str = "global",
        check_input_liveness: bool = False,
    ) -> None:
        """Begins to capture the current stream, which must not be the default one."""
        if capture_error_mode not in _CAPTURE_MODES:
            raise RuntimeError(
                "Unknown capture error mode. Expected `global`, `thread_local`, or "
                f"`relaxed`, got {capture_error_mode}"
            )
        super().capture_begin(pool=pool, capture_error_mode=capture_error_mode)


class graph:
    """Context manager that captures the work of its block.

    Args:
        spyre_graph: where to capture.
        pool: id from graph_pool_handle(), MemPool.id or another graph's pool().
        stream: stream to capture on; None is a side stream of the current card.
        capture_error_mode: "global", "thread_local" or "relaxed".
    """

    default_capture_stream: torch.Stream | None = None

    def __init__(
        self,
        spyre_graph: SpyreGraph,
        pool: tuple[int, int] | None = None,
        stream: torch.Stream | None = None,
        capture_error_mode: str = "global",
        check_input_liveness: bool = False,
    ) -> None:
        self.pool = pool
        self.capture_stream = stream or self._side_stream()
        self.stream_ctx = streams.stream(self.capture_stream)
        self.spyre_graph = spyre_graph
        self.capture_error_mode = capture_error_mode

    @classmethod
    def _side_stream(cls) -> torch.Stream:
        """Kept for the next capture, unless the card has changed."""
        known = cls.default_capture_stream
        if known is None or known.device_index != _C.current_device():
            known = cls.default_capture_stream = streams.Stream()
        return known

    def __enter__(self) -> None:
        torch.accelerator.synchronize()
        gc.collect()
        torch.accelerator.empty_cache()
        self.stream_ctx.__enter__()
        try:
            self.spyre_graph.capture_begin(
                pool=self.pool, capture_error_mode=self.capture_error_mode
            )
        except BaseException:
            self.stream_ctx.__exit__()
            raise

    def __exit__(self, *exc: Any) -> None:
        try:
            self.spyre_graph.capture_end()
        finally:
            self.stream_ctx.__exit__(*exc)
