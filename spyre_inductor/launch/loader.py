"""What generated code imports: a graph's kernel module and its kernels.

spyre_module = SpyreModule(source, plans)                 # starts or joins the build
spyre_fused_add_0 = spyre_module.kernel("spyre_fused_add_0", buffers=..., ...)
async_compile.wait(globals())                             # kernels of a graph without a plan load
call = planned_call(plan, call, globals())                # with one: at the graph's first call

The compiler so runs beside whatever follows the code generation: Inductor's and Dynamo's own work
and, in training, the compilation of the backward graph.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch._inductor.async_compile import get_compile_threads
from torch._inductor.codecache import LambdaFuture

from torch_spyre import _C

from .. import config
from ..debug.graph_folder import folder, write_into
from ..errors import CompileError, LaunchError, LoadError
from ..logs import artifact_logger
from ..plan.json_codec import from_json
from ..plan.launch_plan import LaunchPlan
from .async_compile import take_build, unpack_plans
from .plan_encoding import PlanEncoder
from .statistics import counts

log = artifact_logger(__name__, "spyre_launch")

_C.set_launch_errors(LaunchError, LoadError)


class SpyreModule:
    """The built kernels of one graph; the build runs in a thread until a kernel is asked for.

    Args:
        source: C++ of every kernel, kept readable in the generated code.
        plans: Their plans, packed: stored beside the binary when it has to be built again.
        deferred: The graph has a launch plan, so that its kernels are loaded by the first call.
    """

    def __init__(self, source: str, plans: str, deferred: bool = False) -> None:
        self._build = take_build(source, unpack_plans(plans))
        self._deferred = deferred
        self._folder = folder()
        self._loading = threading.Lock()
        self._module: Any = None

    def _handle(self) -> Any:
        with self._loading:
            if self._module is None:
                self._module = self._load()
            return self._module

    def _load(self) -> Any:
        try:
            entry = self._build.entry.result()
        except Exception as error:
            if isinstance(error, CompileError):
                write_into(self._folder, "spyre_build.txt", str(error))
            self._build = self._build.again()  # for the next call, whatever failed
            raise
        record = json.dumps(dict(entry.build), indent=1) + "\n"
        write_into(self._folder, "spyre_build.json", record)
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
        """A kernel that the launch plan loads, or the future of one that `AsyncCompile.wait` puts
        in its place.

        Raises (here, from wait or at the first call): CompileError, CacheError, LoadError.
        """
        typed = tuple((label, getattr(torch, dtype)) for label, dtype in buffers)

        def make() -> Any:
            counts["kernels_loaded"] += 1
            return _C.make_kernel(
                self._handle(), name, typed, scalars, cores, cores_fixed, workspace_bytes,
                checks, points, ns_per_point,
            )  # fmt: skip

        if self._deferred:
            return DeferredKernel(make)
        # AsyncCompile.wait looks for futures only when it has more than one thread.
        return LambdaFuture(make) if get_compile_threads() > 1 else make()


class DeferredKernel:
    """A kernel of a graph with a launch plan; `make` runs once, at the first use.

    Callable too, for those who run the graph's lines beside its plan.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    @functools.cached_property
    def loaded(self) -> Any:
        return self._make()

    def __call__(self, *args: Any) -> Any:
        return self.loaded(*args)


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
        scope.update(_loaded(scope))
        return by_lines
    counts["graphs_planned"] += 1
    plan = from_json(unpack_plans(packed_plan))
    assert isinstance(plan, LaunchPlan)

    def make() -> Any:
        launch = _C.make_launch_plan(
            *PlanEncoder(plan, {**scope, **_loaded(scope)}).encode()
        )
        log.debug("%s", launch)
        return launch

    launch = _C.defer_launch_plan(make)
    if not plan.constants:
        return launch

    def call(args: list[Any]) -> Any:
        args.extend([scope[name] for name in plan.constants])
        return launch(args)

    return call


def _loaded(scope: dict[str, Any]) -> dict[str, Any]:
    """The deferred kernels of a module's globals, loaded."""
    deferred = {k: v for k, v in scope.items() if isinstance(v, DeferredKernel)}
    return {name: kernel.loaded for name, kernel in deferred.items()}
