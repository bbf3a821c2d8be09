"""The post-grad pass of the spyre device, and the identity it lends to Inductor's caches."""

from __future__ import annotations

import torch
from torch._inductor.custom_graph_pass import CustomGraphModulePass
from torch._inductor.fx_passes.post_grad import ConstructorMoverPass

from .eager_results import round_results
from .fingerprint import code_fingerprint
from .mutated_inputs import copy_before_writes
from .result_types import keep_result_types


class SpyreGraphPass(CustomGraphModulePass):
    """Runs on each graph that touches spyre, after Inductor's post-grad passes."""

    def __call__(self, gm: torch.fx.GraphModule) -> None:
        # A CPU arange in a spyre graph would stay on the CPU and pull in Inductor's C++ code
        # generator, whose first kernel costs 12 s.
        ConstructorMoverPass("spyre")(gm.graph)
        copy_before_writes(gm.graph)
        keep_result_types(gm.graph)
        round_results(gm.graph)
        gm.recompile()

    def uuid(self) -> str:
        """Enters the key of FxGraphCache and AOTAutogradCache (see fingerprint.py)."""
        return code_fingerprint()
