"""nonzero_static has the strides that compiled graphs check."""

from __future__ import annotations

import torch

SPYRE = torch.device("spyre:0")


def test_strides_are_those_of_devices() -> None:
    for shape in ((), (6,), (5, 6), (0, 3), (2, 3, 4)):
        host = (
            torch.ones(shape, dtype=torch.bool).tril()
            if shape[1:]
            else torch.ones(shape)
        )
        for size in (0, 1, 7):
            expected = torch.nonzero_static(host.to("meta"), size=size)
            result = torch.nonzero_static(host.to(SPYRE), size=size, fill_value=-2)
            assert result.shape == expected.shape
            if min(expected.shape) > 1:
                assert result.stride() == expected.stride()
            wanted = torch.nonzero_static(host, size=size, fill_value=-2)
            assert torch.equal(result.cpu(), wanted)


def test_a_graph_without_a_launch_plan_takes_it() -> None:
    # Counting integers has no launch plan: the wrapper's lines check strides.
    def found(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.nonzero_static(x, size=7), torch.histc(x, 4)

    x = (torch.arange(30) % 3).reshape(5, 6).to(SPYRE)
    compiled = torch.compile(found, backend="spyre", fullgraph=True)
    for ours, theirs in zip(compiled(x), found(x), strict=True):
        assert torch.equal(ours.cpu(), theirs.cpu())
        assert ours.stride() == theirs.stride()
