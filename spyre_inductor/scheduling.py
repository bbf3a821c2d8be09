"""SpyreScheduling: which nodes share a kernel, and the way node group -> plan -> wrapper."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import sympy
import torch
from torch._inductor import config as inductor_config
from torch._inductor.codegen.common import BackendFeature
from torch._inductor.codegen.simd import SIMDScheduling
from torch._inductor.codegen.simd_kernel_features import SIMDKernelFeatures
from torch._inductor.dependencies import MemoryDep
from torch._inductor.scheduler import WhyNoFuse
from torch._inductor.utils import get_fused_kernel_name
from torch._inductor.virtualized import V
from torch.utils._ordered_set import OrderedSet

from . import config
from .kernel.pending_launches import PendingLaunches
from .kernel.split_reduction import Partial, split_reduction
from .kernel.split_scan import split_scan
from .kernel.spyre_kernel import SpyreKernel
from .plan.kernel_plan import KernelPlan
from .plan.verify import verify


class SpyreScheduling(SIMDScheduling):
    """Fuses as Inductor's SIMD backends do; every kernel is flat before axes are chosen."""

    kernel_type = SpyreKernel
    backend_features = OrderedSet(
        [
            BackendFeature.INPLACE_BUFFERS,
            BackendFeature.REDUCE_TO_SINGLE_ELEMENT,
            BackendFeature.SCAN,
            BackendFeature.BUCKETIZE,
            BackendFeature.TUPLE_REDUCTION,
            BackendFeature.MASKED_SCATTER_WITH_INDEX,
        ]
    )

    def __init__(self, scheduler: Any) -> None:
        super().__init__(scheduler)
        self.pending = PendingLaunches(scheduler)
        self._depends = False  # the node being generated, on waiting launches

    @classmethod
    def get_backend_features(cls, device: torch.device) -> OrderedSet[BackendFeature]:
        return cls.backend_features

    @classmethod
    def get_tiling_and_scores(
        cls,
        node_schedule: Sequence[Any],
        numel: sympy.Expr,
        reduction_numel: sympy.Expr = sympy.S.One,
        coalesce_analysis: Any = None,
    ) -> tuple[dict[str, sympy.Expr], None]:
        """One flat range per kernel: the plan's axes come from the indices actually used."""
        return cls.create_tiling([numel], [reduction_numel]), None

    def can_fuse(self, node1: Any, node2: Any) -> bool:
        """Inductor's rule, and that no point updates what another point still has to read."""
        if not super().can_fuse(node1, node2):
            return False
        elsewhere = self._read_elsewhere(node1, node2)
        if elsewhere is not None:
            WhyNoFuse(node1, node2)("%s is updated and read at other places", elsewhere)
        return elsewhere is None

    can_fuse_vertical = can_fuse
    can_fuse_horizontal = can_fuse

    def _read_elsewhere(self, node1: Any, node2: Any) -> str | None:
        """A buffer that one node updates in place and one reads at other indices.

        Inductor looks for such reads by the buffer's first name; after an update it has another.
        """
        real = self.scheduler.mutation_real_name
        accesses = (node1.read_writes, node2.read_writes)
        updates = {
            real[d.name]: d for rw in accesses for d in rw.writes if d.name in real
        }
        for read in (
            d for rw in accesses for d in rw.reads if isinstance(d, MemoryDep)
        ):
            name = real.get(read.name, read.name)
            update = updates.get(name)
            if update is not None and not (
                isinstance(update, MemoryDep)
                and (read.index, read.size) == (update.index, update.size)
            ):
                return name
        return None

    def codegen_node(self, node: Any) -> None:
        """Turns one fused node group into one kernel."""
        nodes = [
            n
            for n in node.get_nodes()
            if n.get_name() not in self.scheduler.removed_ops
        ]
        if nodes:
            self._depends = self.pending.is_needed_by(node)
            self._codegen_nodes(nodes)

    def flush(self) -> None:
        self.pending.flush()

    def free_buffers_in_scheduler(self) -> None:
        if self.pending:
            self.pending.delay_releases()
        else:
            super().free_buffers_in_scheduler()

    def codegen_node_schedule(self, kernel_features: SIMDKernelFeatures) -> None:
        # Indices are 64 bits wide: the base class would add guards for 32-bit ones.
        kernel_features.select_index_dtype = lambda: torch.int64  # type: ignore[method-assign]
        super().codegen_node_schedule(kernel_features)

    def define_kernel(
        self, src_code: str, node_schedule: Sequence[Any], kernel: SpyreKernel
    ) -> str:
        """Names the kernel's plan and hands it to the wrapper; equal plans share a kernel."""
        wrapper = V.graph.wrapper_code
        fused = get_fused_kernel_name(
            node_schedule, inductor_config.triton.descriptive_names
        )
        name = "_".join(["spyre", fused, wrapper.next_kernel_suffix()])
        plan = verify(dataclasses.replace(kernel.plan, name=name))
        parts, kernel.partials = _parts(plan)
        kernel.launches = tuple(
            verify(
                dataclasses.replace(part, name=f"{name}_{suffix}" if suffix else name)
            )
            for suffix, part in parts.items()
        )
        if self.scheduler._has_multi_stream_nodes():
            self.pending.flush()
        cores = kernel.launches[0].division.cores
        kernel.in_tail = self.pending.make_room_for(plan, cores, self._depends)
        kernel.pending = self.pending
        for launch in kernel.launches:
            wrapper.define_spyre_kernel(launch)
        return name


def _parts(plan: KernelPlan) -> tuple[dict[str, KernelPlan], tuple[Partial, ...]]:
    """What to launch for `plan`, by the suffix of its name, and the workspaces between."""
    reduction = split_reduction(plan, config.cores)
    if reduction is not None:
        parts = {"partial": reduction.partial, "combine": reduction.combine}
        return parts, reduction.partials
    scan = split_scan(plan, config.cores)
    if scan is not None:
        parts = {"totals": scan.totals, "offsets": scan.offsets, "scan": scan.scan}
        return parts, scan.partials
    return {"": plan}, ()
