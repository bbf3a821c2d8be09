"""What generated code imports: a graph's kernel module and its kernels.

spyre_module = SpyreModule(source, plans)                 # starts or joins the build
spyre_fused_add_0 = spyre_module.kernel("spyre_fused_add_0", buffers=..., ...)
async_compile.wait(globals())                             # kernels are callable from here on
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch._inductor.async_compile import get_compile_threads
from torch._inductor.codecache import LambdaFuture

from torch_spyre import _C

from ..errors import LaunchError, LoadError
from ..logs import artifact_logger
from .async_compile import begin_build, finish_build, unpack_plans

log = artifact_logger(__name__, "spyre_launch")

_C.set_launch_errors(LaunchError, LoadError)


class SpyreModule:
    """The built kernels of one graph; the build runs in a thread until a kernel is asked for.

    Args:
        source: C++ of every kernel, kept readable in the generated code.
        plans: Their plans, packed: stored beside the binary when it has to be built again.
    """

    def __init__(self, source: str, plans: str) -> None:
        self._source = source
        self._plans_json = unpack_plans(plans)
        begin_build(self._source, self._plans_json)

    @functools.cached_property
    def _handle(self) -> Any:
        entry = finish_build(self._source, self._plans_json)
        log.debug(
            "load %s (%s)", entry.so_path, "cache hit" if entry.hit else "just built"
        )
        return _C.load_module(str(entry.so_path))

    def kernel(
        self,
        name: str,
        *,
        buffers: tuple[tuple[str, str], ...],
        scalars: tuple[tuple[str, bool], ...] = (),
        cores: int,
        workspace_bytes: int = 0,
        checks: tuple[str, ...] = (),
        points: tuple[int, ...],
        ns_per_point: float,
    ) -> Any:
        """A kernel, or the future of one that `AsyncCompile.wait` puts in its place.

        Raises (here or from wait): CompileError, CacheError, LoadError.
        """
        typed = tuple((label, getattr(torch, dtype)) for label, dtype in buffers)

        def make() -> Any:
            return _C.make_kernel(
                self._handle, name, typed, scalars, cores, workspace_bytes, checks, points,
                ns_per_point,
            )  # fmt: skip

        # AsyncCompile.wait looks for futures only when it has more than one thread.
        return LambdaFuture(make) if get_compile_threads() > 1 else make()
