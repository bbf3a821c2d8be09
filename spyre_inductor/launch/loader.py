"""What generated code imports: a graph's kernel module and its kernels.

spyre_module = SpyreModule(source, plans)                 # starts or joins the build
spyre_fused_add_0 = spyre_module.kernel("spyre_fused_add_0", buffers=..., ...)
async_compile.wait(globals())                             # kernels are callable from here on
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import torch
from torch._inductor.async_compile import get_compile_threads
from torch._inductor.codecache import LambdaFuture

from torch_spyre import _C

from .. import config
from ..debug.graph_folder import write_stage
from ..errors import CompileError, LaunchError, LoadError
from ..logs import artifact_logger
from ..plan.json_codec import from_json
from ..plan.launch_plan import LaunchPlan
from .async_compile import begin_build, finish_build, unpack_plans
from .plan_encoding import PlanEncoder
from .statistics import counts

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
        try:
            entry = finish_build(self._source, self._plans_json)
        except CompileError as error:
            write_stage("spyre_build.txt", str(error))
            raise
        write_stage("spyre_build.json", json.dumps(dict(entry.build), indent=1) + "\n")
        log.debug(
            "load %s (%s)", entry.so_path, "cache hit" if entry.hit else "just built"
        )
        counts["modules_loaded"] += 1
        return _C.load_module(str(entry.so_path))

    def kernel(
        self,
        name: str,
        *,
        buffers: tuple[tuple[str, str], ...],
        scalars: tuple[tuple[str, bool], ...] = (),
        cores: int,
        cores_fixed: bool = False,
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
            counts["kernels_loaded"] += 1
            return _C.make_kernel(
                self._handle, name, typed, scalars, cores, cores_fixed, workspace_bytes, checks,
                points, ns_per_point,
            )  # fmt: skip

        # AsyncCompile.wait looks for futures only when it has more than one thread.
        return LambdaFuture(make) if get_compile_threads() > 1 else make()


def planned_call(
    packed_plan: str, by_lines: Callable[[list[Any]], Any], scope: dict[str, Any]
) -> Callable[[list[Any]], Any]:
    """The graph's `call`, replayed from its launch plan with one enqueue.

    Args:
        packed_plan: The LaunchPlan's JSON, packed.
        by_lines: The same call line by line in Python; used when config.launch_plan is off.
        scope: The generated module's globals: its kernels, and constants that are set later.
    """
    if not config.launch_plan:
        return by_lines
    plan = from_json(unpack_plans(packed_plan))
    assert isinstance(plan, LaunchPlan)
    launch = _C.make_launch_plan(*PlanEncoder(plan, scope).encode())
    counts["graphs_planned"] += 1
    log.debug("%s", launch)
    if not plan.constants:
        return launch

    def call(args: list[Any]) -> Any:
        args.extend([scope[name] for name in plan.constants])
        return launch(args)

    return call
