"""The post-grad pass of the spyre device, and the identity it lends to Inductor's caches."""

from __future__ import annotations

import torch
from torch._inductor.custom_graph_pass import CustomGraphModulePass
from torch._inductor.fx_passes.post_grad import ConstructorMoverPass

from .eager_results import round_results
from .fingerprint import code_fingerprint


class SpyreGraphPass(CustomGraphModulePass):
    """Runs on each graph that touches spyre, after Inductor's post-grad passes."""

    def __call__(self, gm: torch.fx.GraphModule) -> None:
        # A CPU arange in a spyre graph would stay on the CPU and pull in Inductor's C++ code
        # generator, whose first kernel costs 12 s.
        ConstructorMoverPass("spyre")(gm.graph)
        _keep_bytes(gm.graph)
        round_results(gm.graph)
        gm.recompile()

    def uuid(self) -> str:
        """Enters the key of FxGraphCache and AOTAutogradCache (see fingerprint.py)."""
        return code_fingerprint()


def _keep_bytes(graph: torch.fx.Graph) -> None:
    """`any` of uint8 is uint8, as eager mode and the fake tensors say; its lowering gives bool."""
    any_of = torch.ops.aten.any
    for target in (any_of.default, any_of.dim, any_of.dims):
        for node in graph.find_nodes(op="call_function", target=target):
            if node.meta["val"].dtype is not torch.uint8:
                continue
            with graph.inserting_after(node):
                convert = torch.ops.prims.convert_element_type.default
                bytes_ = graph.call_function(convert, (node, torch.uint8))
            bytes_.meta = dict(node.meta)
            node.replace_all_uses_with(bytes_, lambda user, own=bytes_: user is not own)
