"""Modes and transforms of PyTorch on spyre tensors, against the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
import torch.autograd.forward_ad as forward_ad
from torch._subclasses import FakeTensorMode
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from torch.utils.checkpoint import checkpoint


def same(got: torch.Tensor, expected: torch.Tensor) -> None:
    assert got.device.type == "spyre"
    torch.testing.assert_close(got.cpu(), expected)


@pytest.fixture
def default_device() -> Iterator[None]:
    torch.set_default_device("spyre:1")
    yield
    torch.set_default_device(None)


def test_set_default_device(default_device: None) -> None:
    assert torch.get_default_device() == torch.device("spyre:1")
    for made in (
        torch.zeros(2),
        torch.tensor([1.0]),
        torch.arange(3),
        torch.nn.Linear(2, 2).weight,
    ):
        assert made.device == torch.device("spyre:1")
    assert torch.zeros(2, device="cpu").device.type == "cpu"


def test_device_as_context() -> None:
    with torch.device("spyre"):
        assert torch.rand(2).device.type == "spyre"
        with torch.device("cpu"):
            assert torch.rand(2).device.type == "cpu"
    assert torch.rand(2).device.type == "cpu"


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint_replays_the_devices_random_numbers(reentrant: bool) -> None:
    x = torch.ones(64, 64, device="spyre", requires_grad=True)
    after: list[torch.Tensor] = []

    def block(value: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(value, 0.5) * value

    torch.manual_seed(3)
    y = checkpoint(block, x, use_reentrant=reentrant, preserve_rng_state=True)
    after.append(torch.rand(4, device="spyre"))
    y.sum().backward()
    after.append(torch.rand(4, device="spyre"))
    assert x.grad is not None
    assert torch.equal(x.grad.cpu() != 0, y.detach().cpu() != 0)
    torch.manual_seed(3)
    block(x.detach())
    assert torch.equal(torch.rand(4, device="spyre").cpu(), after[0].cpu())
    assert torch.equal(torch.rand(4, device="spyre").cpu(), after[1].cpu())


def test_checkpoint_of_two_cards() -> None:
    # Upstream keeps the random states of its arguments' cards, so both have one.
    x = torch.ones(8, 8, device="spyre:0", requires_grad=True)
    scale = torch.ones(8, 8, device="spyre:1")

    def block(value: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        first = torch.nn.functional.dropout(value, 0.5)
        return torch.nn.functional.dropout(first.to("spyre:1") * scale, 0.5)

    y = checkpoint(block, x, scale, use_reentrant=False)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad.cpu() != 0, y.detach().cpu() != 0)


def function(x: torch.Tensor) -> torch.Tensor:
    return (x.sin() * x.exp()).sum()


@pytest.mark.parametrize(
    "transform",
    [
        grad(function),
        vmap(grad(function)),
        jacrev(lambda x: x.sin() * x),
        jacfwd(lambda x: x.sin() * x),
        hessian(function),
        lambda x: jvp(torch.tanh, (x,), (x.cos(),))[1],
        lambda x: vjp(torch.tanh, x)[1](x)[0],
        vmap(lambda row: torch.nn.functional.softmax(row, 0)),
    ],
)
def test_functional_transforms(
    transform: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    x = torch.linspace(-1, 1, 12).reshape(3, 4)
    same(transform(x.to("spyre")), transform(x))


def test_vmap_randomness() -> None:
    x = torch.zeros(3, 4, device="spyre")
    different = vmap(lambda row: row + torch.rand_like(row), randomness="different")(x)
    alike = vmap(lambda row: row + torch.rand_like(row), randomness="same")(x)
    assert not torch.equal(different[0].cpu(), different[1].cpu())
    assert torch.equal(alike[0].cpu(), alike[1].cpu())


def test_per_sample_gradients_of_a_module() -> None:
    model = torch.nn.Linear(4, 2)
    x = torch.rand(5, 4)

    def gradients(device: str) -> torch.Tensor:
        parameters = {
            name: p.detach().to(device) for name, p in model.named_parameters()
        }
        loss = lambda p, row: functional_call(model, p, (row,)).square().sum()  # noqa: E731
        return vmap(grad(loss), in_dims=(None, 0))(parameters, x.to(device))["weight"]

    same(gradients("spyre"), gradients("cpu"))


def test_forward_mode_ad() -> None:
    x, t = torch.rand(3), torch.rand(3)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.to("spyre"), t.to("spyre"))
        same(
            forward_ad.unpack_dual(dual.sin() * dual).tangent,
            t * (x.cos() * x + x.sin()),
        )


def test_double_backward_and_gradcheck() -> None:
    x = torch.rand(3, dtype=torch.float64, device="spyre", requires_grad=True)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    first.sum().backward()
    same(x.grad, 6 * x.detach().cpu())
    assert torch.autograd.gradcheck(torch.tanh, x)
    assert torch.autograd.gradgradcheck(torch.tanh, x)


def test_fake_tensors_know_the_device_and_touch_no_memory() -> None:
    before = torch.spyre.memory_allocated()
    with FakeTensorMode():
        x = torch.empty(1 << 20, 1 << 10, device="spyre")
        y = (x @ x.t()[:, :4]).relu()
        assert (y.device.type, y.shape) == ("spyre", (1 << 20, 4))
        moved = torch.empty(2).to("spyre:1")
        assert moved.device == torch.device("spyre:1")
        with pytest.raises(RuntimeError, match="device"):
            x + torch.empty(1 << 10)
    assert torch.spyre.memory_allocated() == before


def test_fake_mode_takes_real_tensors() -> None:
    x = torch.rand(2, 3, device="spyre")
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert (x @ x.t()).shape == (2, 2)
    mode = FakeTensorMode()
    assert mode.from_tensor(x).device == x.device


@pytest.fixture
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def test_deterministic_mode_accepts_and_fills(deterministic: None) -> None:
    index = torch.tensor([1, 1, 0])
    values = torch.rand(3)
    same(
        torch.zeros(4, device="spyre").index_add_(
            0, index.to("spyre"), values.to("spyre")
        ),
        torch.zeros(4).index_add_(0, index, values),
    )
    assert torch.empty(8, device="spyre").isnan().all().item()  # filled, as on CUDA


def test_inference_mode_and_no_grad() -> None:
    with torch.inference_mode():
        x = torch.rand(2, device="spyre")
        assert x.is_inference() and not (x + 1).requires_grad
    with torch.no_grad():
        assert not (torch.rand(2, device="spyre", requires_grad=True) * 2).requires_grad


def test_saved_tensors_offloaded_to_pinned_memory() -> None:
    x = torch.rand(4, device="spyre", requires_grad=True)
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        y = x.exp().sum()
    y.backward()
    same(x.grad, x.detach().cpu().exp())


def test_anomaly_mode_names_the_operator() -> None:
    x = torch.zeros(2, device="spyre", requires_grad=True)
    with (
        pytest.warns(UserWarning),
        torch.autograd.detect_anomaly(check_nan=True),
        pytest.raises(RuntimeError, match=r"SqrtBackward0.*nan"),
    ):
        (x.sqrt() * 0).sum().backward()
