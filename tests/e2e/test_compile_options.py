"""mode, options, dynamic and fullgraph mean what they mean for Inductor."""

from __future__ import annotations

import pytest
import torch

from tests.support.compiled import check, fresh_dynamo  # noqa: F401

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def fn(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).relu().sum(-1)


def test_backend_is_listed() -> None:
    assert "spyre" in torch._dynamo.list_backends()


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune"])
def test_modes(mode: str) -> None:
    check(fn, torch.randn(4, 9), mode=mode)


def test_options_of_inductor_reach_it() -> None:
    from torch._inductor import config

    seen = []

    def look(graph: torch.fx.Graph) -> None:
        seen.append(config.max_fusion_size)

    options = {"max_fusion_size": 3, "post_grad_custom_post_pass": look}
    check(fn, torch.randn(4, 9), options=options)
    assert set(seen) == {3}


def test_options_of_this_compiler_reach_it() -> None:
    check(fn, torch.randn(5, 9), options={"spyre.isa": "scalar", "spyre.cores": 2})


@pytest.mark.parametrize(
    "name", ["no_such_option", "spyre.no_such_option", "spyre._cpu_resident"]
)
def test_unknown_option_lists_the_known_ones(name: str) -> None:
    with pytest.raises(Exception, match="Unexpected optimization option") as raised:
        torch.compile(fn, backend="spyre", options={name: 1})(torch.randn(3, 3))
    assert "max_autotune" in str(raised.value)
    assert "spyre.isa" in str(raised.value)


def test_option_of_another_type_is_refused() -> None:
    with pytest.raises(
        Exception, match=r"Unexpected type of attr spyre\.cores, got str"
    ):
        torch.compile(fn, backend="spyre", options={"spyre.cores": "many"})(
            torch.randn(3, 3)
        )


def test_unknown_mode_is_refused() -> None:
    with pytest.raises(Exception, match="no-such-mode"):
        torch.compile(fn, backend="spyre", mode="no-such-mode")(torch.randn(3, 3))


def test_fullgraph_refuses_a_graph_break() -> None:
    def breaks(x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        return x + 1

    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(breaks, backend="spyre", fullgraph=True)(torch.randn(3))
