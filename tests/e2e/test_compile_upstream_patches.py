"""The changes to Inductor: right with them, wrong without them.

When a second test of a pair fails, upstream no longer needs the patch: remove it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch
from torch._dynamo import utils
from torch._inductor import lowering
from torch._inductor.scheduler import Scheduler
from torch._inductor.utils import fresh_cache, run_and_get_code

from spyre_inductor import registration
from tests.support.compiled import fresh_dynamo  # noqa: F401

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


@contextmanager
def upstream(name: str, owner: object = lowering) -> Iterator[None]:
    """Inside, `owner` (torch/_inductor/lowering.py) has its own `name` again."""
    registration.register()
    patched = getattr(owner, name)
    (original,) = (
        cell.cell_contents
        for cell in patched.__closure__
        if getattr(cell.cell_contents, "__name__", "") == name
    )
    setattr(owner, name, original)
    try:
        with fresh_cache():
            yield
    finally:
        setattr(owner, name, patched)


def compiled(fn: Callable[..., torch.Tensor], *args: torch.Tensor) -> torch.Tensor:
    return torch.compile(fn, backend="spyre")(*args)


def scale(factor: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return factor * x


def position(x: torch.Tensor) -> torch.Tensor:
    return x.t().argmax()


FACTOR = torch.tensor(3.0)
VALUES = torch.arange(12.0).reshape(3, 4).roll(5, 0).roll(2, 1)


def test_cpu_scalar_times_spyre_tensor_is_on_spyre() -> None:
    result = compiled(scale, FACTOR, VALUES.to("spyre"))
    assert result.device.type == "spyre"
    torch.testing.assert_close(result.cpu(), VALUES * 3)


def test_is_gpu_patch_is_still_needed() -> None:
    with upstream("is_gpu"):
        result = compiled(scale, FACTOR, VALUES.to("spyre"))
    assert result.device.type == "cpu"  # upstream takes the first input's device


def test_argmax_of_a_transposed_tensor_is_its_logical_position() -> None:
    assert compiled(position, VALUES.to("spyre")).item() == position(VALUES).item()


def test_arg_reduction_patch_is_still_needed() -> None:
    with upstream("_make_reduction_inner"):
        result = compiled(position, VALUES.to("spyre")).item()
    assert result != position(VALUES).item()


def group_norm_kernels() -> int:
    def function(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.group_norm(x, 2, weight)

    x, weight = torch.arange(1024.0).reshape(2, 8, 8, 8).sin(), torch.arange(8.0)
    compiled_function = torch.compile(function, backend="spyre")
    card = (x.to("spyre"), weight.to("spyre"))
    result, (code,) = run_and_get_code(compiled_function, *card)
    torch.testing.assert_close(result.cpu(), function(x, weight))
    return code.count("// Kernel spyre_")


def test_normalised_groups_fuse_into_their_statistics() -> None:
    assert group_norm_kernels() == 1


def test_reindexed_dependencies_patch_is_still_needed() -> None:
    with upstream("_try_reindex_pointwise_for_reduction", Scheduler):
        assert group_norm_kernels() == 2


def python_calls(function: Callable[[], object]) -> int:
    """How many Python functions run in `function`."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def test_stream_of_a_compiled_call_is_the_current_one() -> None:
    registration.register()
    stream, card = torch.spyre.Stream(), torch.device("spyre")
    assert utils.get_current_stream(card) == torch.accelerator.current_stream()
    with torch.spyre.stream(stream):
        assert utils.get_current_stream(card) == stream
        assert utils.get_current_stream(torch.device("spyre", 1)) != stream
    with torch.spyre.device(1):
        assert utils.get_current_stream(card).device_index == 1
    with pytest.raises(ValueError, match="cuda"):
        utils.get_current_stream(torch.device("cuda"))


def test_stream_lookup_is_one_python_call() -> None:
    registration.register()
    card = torch.device("spyre", 0)
    assert python_calls(lambda: utils.get_current_stream(card)) == 2  # and the lambda


def test_stream_lookup_patch_is_still_needed() -> None:
    with upstream("get_current_stream", utils):
        card = torch.device("spyre", 0)
        assert python_calls(lambda: utils.get_current_stream(card)) > 2
