"""What user code relies on: identity of Parameters, devices, autograd, random numbers, autocast."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F

SPYRE = torch.device("spyre:0")
OTHER = torch.device("spyre:1")


def test_module_to_keeps_parameters_both_ways() -> None:
    layer = torch.nn.Linear(3, 4)
    weight = layer.weight
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer.to(SPYRE)
    assert layer.weight is weight
    assert weight.device == SPYRE
    before = weight.detach().cpu()
    layer(torch.ones(2, 3, device=SPYRE)).sum().backward()
    optimizer.step()
    assert not torch.equal(weight.detach().cpu(), before)
    layer.cpu()
    assert layer.weight is weight
    assert weight.device.type == "cpu"


def test_data_assignment_moves_the_tensor() -> None:
    p = torch.nn.Parameter(torch.ones(3))
    p.data = p.data.to(SPYRE)
    assert p.device == SPYRE
    p.data = p.data.cpu()
    assert p.device.type == "cpu"


def test_tied_weights_stay_tied() -> None:
    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Linear(4, 4)
            self.second = torch.nn.Linear(4, 4)
            self.second.weight = self.first.weight

    model = Tied().to(SPYRE)
    assert model.first.weight is model.second.weight
    assert copy.deepcopy(model).first.weight.device == SPYRE


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: a + b,
        lambda a, b: torch.mm(a, b),
        lambda a, b: torch.cat([a, b]),
        lambda a, b: F.layer_norm(a, (4,), b[0]),
        lambda a, b: F.conv1d(a[None], b[None]),
        lambda a, b: torch.cdist(a, b),
    ],
)
def test_mixed_devices_are_refused_with_cudas_sentence(call: object) -> None:
    a = torch.ones(4, 4, device=SPYRE)
    for b in (torch.ones(4, 4), torch.ones(4, 4, device=OTHER)):
        with pytest.raises(
            RuntimeError, match="Expected all tensors to be on the same device"
        ):
            call(a, b)  # type: ignore[operator]
        assert a.sum().item() == 16


def test_zero_dim_host_tensor_is_a_number() -> None:
    a = torch.ones(4, device=SPYRE)
    assert (a + torch.tensor(2.0)).tolist() == [3] * 4
    assert torch.where(a > 0, a, torch.tensor(5.0)).tolist() == [1] * 4


def test_gradients_equal_the_cpus() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
        torch.nn.Flatten(), torch.nn.Linear(8 * 36, 5),
    )  # fmt: skip
    x, target = torch.randn(4, 3, 6, 6), torch.tensor([0, 1, 2, 3])
    twin = copy.deepcopy(model).to(SPYRE)
    F.cross_entropy(model(x), target).backward()
    F.cross_entropy(twin(x.to(SPYRE)), target.to(SPYRE)).backward()
    for ours, theirs in zip(twin.parameters(), model.parameters(), strict=True):
        assert ours.grad is not None and theirs.grad is not None
        torch.testing.assert_close(ours.grad.cpu(), theirs.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("cell", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_recurrent_layers_equal_the_cpus(cell: type[torch.nn.Module]) -> None:
    torch.manual_seed(0)
    model = cell(5, 7, num_layers=2, bidirectional=True)
    twin = copy.deepcopy(model).to(SPYRE)
    x = torch.randn(3, 2, 5)
    expected, result = model(x)[0], twin(x.to(SPYRE))[0]
    torch.testing.assert_close(result.cpu(), expected)
    expected.square().sum().backward()
    result.square().sum().backward()
    for ours, theirs in zip(twin.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours.grad.cpu(), theirs.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mask", [False, True])
def test_attention_is_fused_and_right(causal: bool, mask: bool) -> None:
    torch.manual_seed(0)
    inputs = [torch.randn(2, 3, 9, 8, requires_grad=True) for _ in range(3)]
    ours = [t.detach().to(SPYRE).requires_grad_() for t in inputs]
    bias = torch.randn(9, 9) if mask else None
    expected = F.scaled_dot_product_attention(*inputs, attn_mask=bias, is_causal=causal)
    result = F.scaled_dot_product_attention(
        *ours, attn_mask=None if bias is None else bias.to(SPYRE), is_causal=causal
    )
    assert "FusedAttentionOverrideable" in type(result.grad_fn).__name__
    torch.testing.assert_close(result.cpu(), expected)
    expected.sum().backward()
    result.sum().backward()
    for a, b in zip(ours, inputs, strict=True):
        torch.testing.assert_close(a.grad.cpu(), b.grad, rtol=1e-4, atol=1e-5)


def test_random_numbers_follow_the_seed_and_equal_the_cpus() -> None:
    for draw in (torch.rand, torch.randn):
        torch.manual_seed(3)
        first = draw(1000, device=SPYRE)
        torch.manual_seed(3)
        second = draw(1000, device=SPYRE)
        torch.manual_seed(3)
        assert torch.equal(first.cpu(), second.cpu())
        assert torch.equal(first.cpu(), draw(1000))


def test_explicit_generator_is_used_and_repeats() -> None:
    generator = torch.Generator(device=SPYRE).manual_seed(5)
    first = torch.randn(50, device=SPYRE, generator=generator)
    state = generator.get_state()
    second = torch.empty(50, device=SPYRE).normal_(generator=generator)
    generator.set_state(state)
    assert torch.equal(
        torch.empty(50, device=SPYRE).normal_(generator=generator), second
    )
    assert not torch.equal(first, second)


def test_autocast_follows_cudas_lists() -> None:
    a = torch.rand(8, 8, device=SPYRE)
    with torch.autocast("spyre", dtype=torch.bfloat16):
        assert (a @ a).dtype is torch.bfloat16
        assert F.linear(a, a).dtype is torch.bfloat16
        assert (a @ a).softmax(-1).dtype is torch.float32
        assert torch.cat([a, a.bfloat16()]).dtype is torch.float32
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            F.binary_cross_entropy(a, a)


def test_missing_kernel_names_the_operator() -> None:
    with pytest.raises(NotImplementedError, match=r"spyre|SparsePrivateUse1"):
        torch.ops.aten._cudnn_rnn_flatten_weight(
            [torch.ones(3, device=SPYRE)], 1, 1, 1, 1, 0, 1, False, False
        )


def test_sync_batch_norm_pieces_equal_batch_norm() -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(6, 3, 5), torch.rand(3)
    bias, grad = torch.rand(3), torch.randn(6, 3, 5)
    reference = x.clone().requires_grad_()
    weight_leaf = weight.clone().requires_grad_()
    expected = F.batch_norm(reference, None, None, weight_leaf, bias, training=True)
    expected.backward(grad)
    ours, w, b, dy = (t.to(SPYRE) for t in (x, weight, bias, grad))
    halves = [torch.batch_norm_stats(part, 1e-5) for part in (ours[:2], ours[2:])]
    counts = torch.tensor([10.0, 20.0], device=SPYRE)
    running_mean, running_var = (
        torch.zeros(3, device=SPYRE),
        torch.ones(3, device=SPYRE),
    )
    mean, invstd = torch.batch_norm_gather_stats_with_counts(
        ours, torch.stack([h[0] for h in halves]), torch.stack([h[1] for h in halves]),
        running_mean, running_var, 0.1, 1e-5, counts,
    )  # fmt: skip
    result = torch.batch_norm_elemt(ours, w, b, mean, invstd, 1e-5)
    torch.testing.assert_close(result.cpu(), expected.detach())
    torch.testing.assert_close(running_mean.cpu(), 0.1 * x.mean((0, 2)))
    torch.testing.assert_close(running_var.cpu(), 0.9 + 0.1 * x.var((0, 2)))
    sums = torch.batch_norm_backward_reduce(dy, ours, mean, invstd, w, True, True, True)
    torch.testing.assert_close(sums[2].cpu(), weight_leaf.grad)
    count = torch.tensor([30], dtype=torch.int32, device=SPYRE)
    grad_input = torch.batch_norm_backward_elemt(
        dy, ours, mean, invstd, w, sums[0], sums[1], count
    )
    torch.testing.assert_close(grad_input.cpu(), reference.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("size", [64, 40000])  # on the calling thread, and queued
def test_silu_gradient_equals_the_cpus_kernel(dtype: torch.dtype, size: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(size).to(dtype).requires_grad_()
    ours = x.detach().to(SPYRE).requires_grad_()
    dy = torch.randn(size).to(dtype)
    F.silu(x).backward(dy)
    F.silu(ours).backward(dy.to(SPYRE))
    torch.testing.assert_close(ours.grad.cpu(), x.grad, rtol=0, atol=0)


def test_no_composite_formula_replaces_a_kernel_of_the_cpu() -> None:
    """Autograd takes an operator's composite formula on a device without a kernel of its own."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    found = [
        name
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("aten::")
        and has(name, "CompositeImplicitAutograd")
        and has(name, "CPU")
    ]
    assert "aten::silu_backward" in found
    assert [name for name in found if not has(name, "PrivateUse1")] == []
