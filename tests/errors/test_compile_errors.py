"""Bad input to compiled graphs: a typed error that says what and where, and the device lives on."""

from __future__ import annotations

import pytest
import torch
from torch._dynamo.exc import TorchRuntimeError

from spyre_inductor.errors import CompileError, LaunchError, LoadError
from tests.support.compiled import fresh_dynamo  # noqa: F401
from torch_spyre import _C

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def assert_device_works() -> None:
    torch.spyre.synchronize()
    assert torch.equal((torch.ones(3).to("spyre") + 1).cpu(), torch.full((3,), 2.0))


@pytest.mark.parametrize("device", ["spyre", "cpu"])
@pytest.mark.parametrize("rows", [4, 4096])
def test_index_out_of_range(device: str, rows: int) -> None:
    def fn(table, index):
        return table[index] * 2

    compiled = torch.compile(fn, backend="spyre")
    table = torch.randn(rows, 64).to(device)
    good = torch.zeros(rows, dtype=torch.int64).to(device)
    compiled(table, good)
    bad = good.clone()
    bad[-1] = rows + 3
    with pytest.raises(torch.AcceleratorError, match=str(rows + 3)) as raised:
        compiled(table, bad)
        torch.spyre.synchronize()
    assert "spyre_fused" in str(raised.value)
    assert_device_works()
    torch.testing.assert_close(compiled(table, good).cpu(), fn(table.cpu(), good.cpu()))


DIVISIONS = {
    "floor_divide": lambda a, b: a // b,
    "remainder": lambda a, b: a % b,
    "truncated": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "fmod": torch.fmod,
}


@pytest.mark.parametrize("device", ["spyre", "cpu"])
@pytest.mark.parametrize("name", DIVISIONS)
def test_integer_division_by_zero(name: str, device: str) -> None:
    divide = DIVISIONS[name]
    compiled = torch.compile(lambda a, b: divide(a, b) + 1, backend="spyre")
    a, b = torch.arange(-50, 50), torch.arange(1, 101)
    expected = divide(a, b) + 1
    assert torch.equal(compiled(a.to(device), b.to(device)).cpu(), expected)
    zero = b.clone()
    zero[77] = 0
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        divide(a, zero)
    with pytest.raises(torch.AcceleratorError, match="ZeroDivisionError"):
        compiled(a.to(device), zero.to(device))
        torch.spyre.synchronize()
    assert_device_works()


def test_integer_division_checks_only_what_exists() -> None:
    # Lanes of the other half of a concatenation, and of a tail, hold zeros that nobody divides by.
    def fn(a, b, c):
        return torch.cat([a // b, c, torch.nn.functional.pad(a % b, (3, 5))])

    a, b, c = torch.arange(19), torch.arange(1, 20), torch.arange(30)
    compiled = torch.compile(fn, backend="spyre")
    got = compiled(a.to("spyre"), b.to("spyre"), c.to("spyre"))
    assert torch.equal(got.cpu(), fn(a, b, c))


def test_tensors_on_two_cards() -> None:
    compiled = torch.compile(lambda a, b: a + b, backend="spyre")
    a, b = torch.ones(3).to("spyre:0"), torch.ones(3).to("spyre:1")
    with pytest.raises(
        Exception, match=r"spyre:0.*spyre:1|spyre:1.*spyre:0|same device"
    ):
        compiled(a, b)
    assert_device_works()


def test_tensors_on_cpu_and_card() -> None:
    compiled = torch.compile(lambda a, b: a + b, backend="spyre")
    with pytest.raises(TorchRuntimeError) as raised:
        compiled(torch.ones(3).to("spyre"), torch.ones(3))
    message = str(raised.value)
    for part in ("add", "spyre:0 and cpu", "Move inputs"):
        assert part in message
    assert_device_works()


def test_unchecked_index_out_of_range() -> None:
    """An index that a decomposition vouches for is checked by the plan itself."""

    def fn(table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten._unsafe_index(table, [index]) * 2

    compiled = torch.compile(fn, backend="spyre")
    table, good = torch.randn(6, 64), torch.tensor([5, 0, 3])
    result = compiled(table.to("spyre"), good.to("spyre"))
    torch.testing.assert_close(result.cpu(), fn(table, good))
    with pytest.raises(
        torch.AcceleratorError, match=r"computed index.*bounds \[0, 384\)"
    ):
        compiled(table.to("spyre"), torch.tensor([0, 6, 1], device="spyre"))
        torch.spyre.synchronize()
    assert_device_works()


def test_failed_check_in_a_group_names_its_index() -> None:
    """Two lookups share a launch; each has its own message and limits."""

    def fn(a, b, i, j):
        return a[i] * 2, b[j] + 1

    compiled = torch.compile(fn, backend="spyre")
    tables = [torch.randn(6, 64).to("spyre"), torch.randn(9, 8).to("spyre")]
    good = [torch.tensor([1, 2], device="spyre"), torch.tensor([8], device="spyre")]
    compiled(*tables, *good)
    torch.spyre.synchronize()
    with pytest.raises(torch.AcceleratorError, match=r"size 9.*index 9"):
        compiled(*tables, good[0], good[1] + 1)
        torch.spyre.synchronize()
    with pytest.raises(torch.AcceleratorError, match=r"size 6.*index [67]"):
        compiled(*tables, good[0] + 5, good[1])
        torch.spyre.synchronize()
    assert_device_works()


def test_operator_without_lowering_and_kernel() -> None:
    torch.library.define("spyre_test::lonely", "(Tensor x) -> Tensor")
    torch.library.register_fake("spyre_test::lonely", torch.empty_like)
    compiled = torch.compile(
        lambda x: torch.ops.spyre_test.lonely(x) + 1, backend="spyre"
    )
    with pytest.raises(
        NotImplementedError,
        match=r"spyre_test::lonely.*spyre.*Float\[3, 4\].*Move its inputs",
    ):
        compiled(torch.ones(3, 4, device="spyre"))
    assert_device_works()


def kernel() -> object:
    """A loaded kernel of two float32 buffers and one size."""
    from torch._inductor.codecache import PyCodeCache

    def fn(x):
        return x.exp() + 1

    torch.compile(fn, backend="spyre", dynamic=True)(torch.ones(17).to("spyre"))
    module = PyCodeCache.modules[-1]
    return next(
        value for name, value in vars(module).items() if name.startswith("spyre_fused")
    )


def test_launch_names_kernel_and_argument() -> None:
    launch = kernel()
    x = torch.ones(17).to("spyre")
    with pytest.raises(
        LaunchError, match=r"spyre_fused.*expected 2 tensors and 1 sizes, got 2"
    ):
        launch(x, x)
    with pytest.raises(
        LaunchError, match=r"argument 1 \(out_ptr0\): expected a tensor, got int"
    ):
        launch(x, 1, 17)
    with pytest.raises(
        LaunchError, match=r"argument 0 \(in_ptr0\): expected dtype Float, got"
    ):
        launch(x.long(), x, 17)
    with pytest.raises(
        LaunchError, match=r"spyre tensor or a CPU tensor of dimension 0.*cpu"
    ):
        launch(torch.ones(17), x, 17)
    with pytest.raises(LaunchError, match="on spyre:1"):
        launch(x, torch.ones(17).to("spyre:1"), 17)
    assert_device_works()


def test_missing_module() -> None:
    with pytest.raises(LoadError, match=r"no_such\.so"):
        _C.load_module("/no_such.so")


def test_launch_plan_names_graph_and_input() -> None:
    from torch._inductor.codecache import PyCodeCache

    torch.compile(lambda x: x.exp() * 2, backend="spyre")(torch.ones(5, 6).to("spyre"))
    call = PyCodeCache.modules[-1].call
    with pytest.raises(
        LaunchError, match=r"input arg0_1.*\[5, 6\].*got Float of shape \[6, 5\]"
    ):
        call([torch.ones(6, 5).to("spyre")])
    with pytest.raises(LaunchError, match="expected 1 inputs, got 2"):
        call([torch.ones(5, 6).to("spyre")] * 2)
    with pytest.raises(LaunchError, match="on cpu"):
        call([torch.ones(5, 6)])
    assert_device_works()


def test_refused_kernel_shows_command_source_and_compiler_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from spyre_inductor import wrapper

    render = wrapper.render_module
    monkeypatch.setattr(
        wrapper, "render_module", lambda *args: render(*args) + "\nthis is not C++;\n"
    )
    with pytest.raises(CompileError) as raised:
        torch.compile(lambda x: x * 3 - 2, backend="spyre")(torch.ones(4).to("spyre"))
    message = str(raised.value)
    assert "kernel.cpp" in message
    assert "-shared" in message
    assert "error:" in message
    assert_device_works()


def test_missing_compiler_is_one_sentence() -> None:
    options = {"spyre.cxx": "/no/such/compiler"}
    compiled = torch.compile(lambda x: x * 3 - 4, backend="spyre", options=options)
    with pytest.raises(Exception, match=r"no C\+\+ compiler.*SPYRE_BUILD_CXX"):
        compiled(torch.ones(4).to("spyre"))
    assert_device_works()
