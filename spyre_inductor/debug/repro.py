"""A Python program that runs one graph alone on the card and compares it with CPU eager."""

from __future__ import annotations

from typing import Any

import sympy
import torch
from torch._dynamo.debug_utils import NNModuleToString
from torch._inductor import ir
from torch._inductor.virtualized import V

_PROGRAM = '''"""One compiled graph alone: compiled on the card against CPU eager. Run: python repro.py"""

import torch
from math import inf, nan
from torch import device, tensor
from torch._dynamo.testing import rand_strided
from torch.nn import *


def make(DEVICE):
    """The graph after Inductor's passes, for one device."""
{graph}
    return Repro()


# (shape, strides, dtype) of a tensor, or a number. Integer tensors are zero: any index is valid.
INPUTS = [
{inputs}
]


def make_inputs(where):
    torch.manual_seed(0)
    return [
        rand_strided(x[0], x[1], x[2], "cpu").to(where) if isinstance(x, tuple) else x
        for x in INPUTS
    ]


def main():
    expected_inputs, actual_inputs = make_inputs("cpu"), make_inputs("spyre")
    expected = make(torch.device("cpu"))(*expected_inputs)
    actual = torch.compile(make(torch.device("spyre", 0)).to("spyre"), backend="spyre")(*actual_inputs)
    pairs = zip([*expected, *expected_inputs], [*actual, *actual_inputs], strict=True)
    for position, (want, got) in enumerate(pairs):
        if isinstance(want, torch.Tensor):
            torch.testing.assert_close(got.cpu(), want, msg=lambda text: f"value {{position}}: {{text}}")
    print(f"equal to CPU eager: {{len(expected)}} outputs")


if __name__ == "__main__":
    main()
'''


def repro_source(graph: Any) -> str:
    """Source of repro.py for a GraphLowering; a comment with the reason when it has none."""
    try:
        module = NNModuleToString.convert(graph.orig_gm)
    except Exception as error:  # torch's printer knows not every module
        return f"# This graph cannot be printed as Python: {error}\n"
    for card in range(torch.spyre.device_count()):
        module = module.replace(f"device(type='spyre', index={card})", "DEVICE")
    module = module.replace(
        "from torch.nn import *\n", ""
    )  # only allowed at module level
    indented = "\n".join(
        "    " + line if line else "" for line in module.strip("\n").splitlines()
    )
    inputs = "\n".join(f"    {_spec(value)}," for value in graph.graph_inputs.values())
    return _PROGRAM.format(graph=indented, inputs=inputs)


def _spec(value: Any) -> str:
    hints = V.graph.sizevars.optimization_hints
    if isinstance(value, (ir.TensorBox, ir.StorageBox)):
        shape, strides = hints(value.get_size()), hints(value.get_stride())
        return f"({tuple(shape)}, {tuple(strides)}, {value.get_dtype()})"
    if isinstance(value, sympy.Expr):
        return str(V.graph.sizevars.optimization_hint(value))
    return repr(value)
