"""A long graph's first kernels are compiled while later ones are still being scheduled."""

from __future__ import annotations

import pytest
import torch

from spyre_inductor import wrapper
from spyre_inductor.build import ahead
from spyre_inductor.build.kernel_cache import KernelCache
from spyre_inductor.launch.async_compile import current_cache
from tests.support.compiled import fresh_dynamo  # noqa: F401

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def deep(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    for layer in range(9):
        x = torch.softmax(x @ w, -1) * (layer + 0.125) + x.cos()
    return x


def test_kernels_build_while_lowering_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    give = ahead.UnitAhead.give
    define = wrapper.SpyreWrapperCodegen.define_spyre_kernel

    def noted_give(self: ahead.UnitAhead, text: str) -> bool:
        events.append(f"unit {self.number}")
        return give(self, text)

    def noted_define(self, plan):
        events.append("kernel")
        return define(self, plan)

    monkeypatch.setattr(ahead.UnitAhead, "give", noted_give)
    monkeypatch.setattr(
        wrapper.SpyreWrapperCodegen, "define_spyre_kernel", noted_define
    )
    x, w = torch.randn(8, 8), torch.randn(8, 8)
    result = torch.compile(deep, backend="spyre")(x.to("spyre"), w.to("spyre"))
    torch.testing.assert_close(result.cpu(), deep(x, w))
    first = events.index("unit 1")
    assert first >= wrapper.KERNELS_AHEAD  # so many kernels were there
    assert "kernel" in events[first:]  # and more came
    cache: KernelCache = current_cache()
    assert not list((cache.directory / "staging").glob("ahead.*"))
