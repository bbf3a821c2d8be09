"""torch.compile on spyre tensors against CPU eager: values, strides, mutation, gradients."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.support.compiled import check, fresh_dynamo, gradients, on  # noqa: F401

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool]
)
def test_pointwise(dtype: torch.dtype) -> None:
    a = torch.randint(0, 5, (7, 33)).to(dtype)
    b = torch.randint(0, 5, (33,)).to(dtype)

    def fn(a, b):
        return torch.where(a == b, a, b), (a != b) & (b <= a), a.clone()

    check(fn, a, b)


def test_reductions_of_both_axes_in_one_graph() -> None:
    def fn(x):
        return x.sum(0), x.amax(1), x.mean(), torch.softmax(x, -1)

    check(fn, torch.randn(65, 130))


def test_matmul_chain_with_epilogues() -> None:
    def fn(x, w1, b1, w2):
        return F.gelu(F.linear(x, w1, b1)) @ w2

    check(
        fn, torch.randn(9, 16), torch.randn(24, 16), torch.randn(24), torch.randn(24, 5)
    )


def test_plain_torch_compile_takes_the_same_path() -> None:
    from spyre_inductor.launch.statistics import counts

    before = counts["kernels_loaded"]
    x = torch.randn(19)
    result = torch.compile(lambda x: x.sin() * 3)(x.to("spyre"))
    torch.testing.assert_close(result.cpu(), x.sin() * 3)
    assert counts["kernels_loaded"] > before


def test_mutated_inputs() -> None:
    def fn(x, y):
        x.add_(1)
        y[1:3] = x.sum()
        return x * 2

    check(fn, torch.randn(5), torch.randn(6))


def test_outputs_that_alias_inputs_and_each_other() -> None:
    def fn(x):
        y = x * 2
        return x, x.t(), y, y[1], y.view(-1)

    x = torch.randn(4, 6).to("spyre")
    out = torch.compile(fn, backend="spyre")(x)
    assert out[0] is x
    out[1].zero_()
    assert x.abs().sum().item() == 0
    out[2].fill_(7)
    assert out[3].sum().item() == 42
    assert out[4].sum().item() == 7 * 24


def test_gradients() -> None:
    def fn(x, w):
        return torch.tanh(x @ w).softmax(-1) * x.mean()

    args = [
        torch.randn(6, 8, requires_grad=True),
        torch.randn(8, 8, requires_grad=True),
    ]
    there = on("spyre", args)
    expected = gradients(fn, args)
    actual = gradients(torch.compile(fn, backend="spyre"), there)
    for got, wanted in zip(actual, expected, strict=True):
        torch.testing.assert_close(got.cpu(), wanted)


def test_training_step_with_adam() -> None:
    torch.manual_seed(0)
    models = [
        torch.nn.Sequential(
            torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 1)
        )
    ]
    models.append(
        torch.nn.Sequential(
            torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 1)
        )
    )
    models[1].load_state_dict(models[0].state_dict())
    models[1].to("spyre")
    runs = [models[0], torch.compile(models[1], backend="spyre")]
    optimizers = [torch.optim.Adam(m.parameters(), lr=0.05) for m in models]
    for _ in range(4):
        x = torch.randn(12, 8)
        for run, optimizer, device in zip(
            runs, optimizers, ("cpu", "spyre"), strict=True
        ):
            optimizer.zero_grad()
            run(x.to(device)).square().mean().backward()
            optimizer.step()
    for got, wanted in zip(models[1].parameters(), models[0].parameters(), strict=True):
        torch.testing.assert_close(got.cpu(), wanted)


def test_dynamic_shapes_compile_once() -> None:
    compiles = []

    def fn(x, y):
        return (x @ y).relu().sum(-1) + x.size(0)

    def counting(gm, inputs):
        from spyre_inductor.registration import spyre_backend

        compiles.append(gm)
        return spyre_backend(gm, inputs)

    compiled = torch.compile(fn, backend=counting, dynamic=True)
    for rows in (3, 5, 64, 5):
        x, y = torch.randn(rows, 8), torch.randn(8, rows + 1)
        result = compiled(x.to("spyre"), y.to("spyre"))
        torch.testing.assert_close(result.cpu(), fn(x, y))
    assert len(compiles) == 1


def test_cpu_scalar_tensor_argument() -> None:
    def fn(x, scale):
        return x * scale + scale

    x, scale = torch.randn(10), torch.tensor(2.5)
    result = torch.compile(fn, backend="spyre")(x.to("spyre"), scale)
    torch.testing.assert_close(result.cpu(), fn(x, scale))


def test_empty_tensors() -> None:
    check(lambda x: (x * 2, x.sum(0), x.sum()), torch.randn(0, 4))


def test_second_card() -> None:
    def fn(x):
        return (x + 1).relu().sum(-1), x @ x

    x = torch.randn(16, 16)
    out = torch.compile(fn, backend="spyre")(x.to("spyre:1"))
    for got, wanted in zip(out, fn(x), strict=True):
        assert got.device == torch.device("spyre", 1)
        torch.testing.assert_close(got.cpu(), wanted)


def test_random_numbers_follow_the_seed() -> None:
    compiled = torch.compile(lambda x: F.dropout(x, 0.5), backend="spyre")
    x = torch.ones(1000).to("spyre")
    torch.manual_seed(1)
    first = compiled(x)
    second = compiled(x)
    torch.manual_seed(1)
    again = compiled(x)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    kept = (first != 0).sum().item()
    assert 400 < kept < 600


def test_control_flow_runs_line_by_line() -> None:
    from spyre_inductor.launch.statistics import counts

    before = counts["graphs_by_lines"]

    def fn(flag, x):
        return torch.cond(flag, lambda x: x.sin() + 1, lambda x: x.cos() * 2, (x,))

    compiled = torch.compile(fn, backend="spyre")
    x = torch.randn(8)
    for flag in (True, False):
        where = torch.tensor(flag)
        result = compiled(where.to("spyre"), x.to("spyre"))
        torch.testing.assert_close(result.cpu(), fn(where, x))
    assert counts["graphs_by_lines"] > before


def test_moments_over_two_reduced_axes_with_tails() -> None:
    check(lambda x: torch.var_mean(x, (0, 2, 3)), torch.randn(3, 4, 5, 6) + 100)


def test_histogram_of_integers_as_on_cuda() -> None:
    x = torch.randint(0, 9, (50,), dtype=torch.int32)
    expected = torch.histc(x.float(), 9, 0, 8).int()

    def fn(x):
        return torch.histc(x, 9, 0, 8) * 2

    for run in (fn, torch.compile(fn, backend="spyre")):
        result = run(x.to("spyre"))
        assert result.dtype == torch.int32
        assert torch.equal(result.cpu(), expected * 2)


@pytest.mark.parametrize("shape", [(64, 64), (4099, 9)])
def test_scan_across_rows_is_not_cut_for_a_gpu(shape: tuple[int, int]) -> None:
    check(lambda x: x.cumsum(-1), torch.randn(shape).t(), dynamic=True)


def test_two_blocked_reductions_in_one_kernel() -> None:
    def fn(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.group_norm(x + bias.view(-1, 1, 1), 4)

    check(fn, torch.randn(4, 16, 32, 32), torch.randn(16))


def test_any_of_bytes_is_a_byte() -> None:
    def fn(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.any(), x.any(-1), x.any(0, keepdim=True) * 3, x.all(-1)

    check(fn, torch.randint(3, (5, 4), dtype=torch.uint8))


@pytest.mark.parametrize(
    ("x", "n"),
    [
        (torch.ones(3, dtype=torch.bool), torch.randn(3).half()),
        (torch.tensor([1, 2, 3]), torch.randn(3).bfloat16()),
        (torch.randn(3).half(), torch.randn(3)),
        (torch.randn(3), torch.tensor([1, -2, 3])),
        (torch.tensor([1, 2, 3]), torch.tensor([1, -2, 3])),
    ],
)
def test_ldexp_promotes_as_eager(x: torch.Tensor, n: torch.Tensor) -> None:
    check(torch.ldexp, x, n)
