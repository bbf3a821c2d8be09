"""Eager operators run on the card's memory itself: views, identity, in-place, out=."""

from __future__ import annotations

import pytest
import torch

SPYRE = torch.device("spyre:0")


def test_view_writes_reach_the_base() -> None:
    base = torch.zeros(4, 6, device=SPYRE)
    base[1:3].t()[2].add_(5)
    expected = torch.zeros(4, 6)
    expected[1:3].t()[2].add_(5)
    assert torch.equal(base.cpu(), expected)


def test_in_place_returns_the_same_tensor() -> None:
    x = torch.ones(3, device=SPYRE)
    assert x.add_(1) is x
    assert x.clamp_(max=1) is x
    assert x.to(SPYRE) is x


def test_operator_that_may_return_its_input_shares_storage() -> None:
    x = torch.ones(3, 4, device=SPYRE)
    assert x.contiguous().data_ptr() == x.data_ptr()
    assert x.reshape(12).data_ptr() == x.data_ptr()
    assert x.expand(2, 3, 4).data_ptr() == x.data_ptr()


def test_out_of_size_zero_is_resized() -> None:
    out = torch.empty(0, device=SPYRE)
    result = torch.add(torch.ones(5, device=SPYRE), 1, out=out)
    assert result is out
    assert out.tolist() == [2] * 5


def test_out_of_wrong_size_is_resized_with_a_warning() -> None:
    a = torch.arange(6.0, device=SPYRE).view(2, 3)
    out = torch.empty(4, device=SPYRE)
    with pytest.warns(UserWarning, match="resized"):
        torch.mm(a, a.t(), out=out)
    assert torch.equal(out.cpu(), a.cpu() @ a.cpu().t())


def test_large_out_of_wrong_size_is_resized_too() -> None:
    a = torch.rand(600, 600, device=SPYRE)
    out = torch.empty(1, device=SPYRE)
    with pytest.warns(UserWarning, match="resized"):
        torch.mul(a, a, out=out)
    assert torch.equal(out.cpu(), a.cpu() * a.cpu())


def test_overlapping_input_and_output_is_refused() -> None:
    x = torch.zeros(8, device=SPYRE)
    with pytest.raises(RuntimeError, match=r"overlap|unsupported operation"):
        torch.add(x[:-1], x[1:], out=x[1:])


def test_conjugate_and_negative_views() -> None:
    cpu = torch.randn(5, dtype=torch.complex64)
    x = cpu.to(SPYRE)
    assert x.conj().is_conj()
    assert torch.equal((x.conj() * 2).cpu(), cpu.conj() * 2)
    assert torch.equal(x.conj().resolve_conj().cpu(), cpu.conj().resolve_conj())
    assert torch.equal(x.conj().imag.cpu(), cpu.conj().imag)


def test_numbers_take_the_tensor_dtype() -> None:
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.int64):
        x = torch.arange(4, device=SPYRE).to(dtype)
        assert torch.equal((x + 3).cpu(), x.cpu() + 3)
        assert torch.equal((x * 0.1).cpu(), x.cpu() * 0.1)
        assert (x * 0.1).dtype == (x.cpu() * 0.1).dtype
        assert torch.equal((x > 1.5).cpu(), x.cpu() > 1.5)


def test_set_and_storage_resize() -> None:
    x = torch.arange(4.0, device=SPYRE)
    x.resize_(2, 4)
    assert x.flatten()[:4].tolist() == [0, 1, 2, 3]
    y = torch.empty(0, device=SPYRE).set_(x.untyped_storage(), 1, (2,), (2,))
    assert y.tolist() == [1, 3]
    x.untyped_storage().resize_(0)
    assert x.untyped_storage().nbytes() == 0


def test_result_outlives_its_inputs() -> None:
    x = torch.rand(1000, device=SPYRE)
    expected = x.cpu().sort().values[:3]
    small = x.sort().values[:3]
    del x
    junk = [torch.full((1000,), 7.0, device=SPYRE) for _ in range(20)]
    assert torch.equal(small.cpu(), expected)
    assert junk[0][0].item() == 7
