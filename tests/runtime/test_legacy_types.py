"""torch.spyre.FloatTensor, FloatStorage and their like behave as torch.cuda's."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
import torch

spyre = torch.spyre
TENSORS = [name for name in torch.cuda.__all__ if name.endswith("Tensor")]
STORAGES = [name for name in torch.cuda.__all__ if name.endswith("Storage")]


@pytest.fixture(autouse=True)
def no_deprecation_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_class_names_its_tensors(name: str) -> None:
    made = getattr(spyre, name)(2, 3)
    assert made.shape == (2, 3) and made.type() == f"torch.spyre.{name}"
    assert isinstance(made, getattr(spyre, name))
    assert not isinstance(made.cpu(), getattr(spyre, name))
    assert made.cpu().type(getattr(spyre, name)).type() == made.type()


def test_constructor_forms() -> None:
    x = spyre.FloatTensor([[1, 2], [3, 4]])
    assert x.tolist() == [[1, 2], [3, 4]] and x.device.type == "spyre"
    assert spyre.LongTensor((5, 6)).tolist() == [5, 6]
    assert spyre.FloatTensor(torch.Size([3])).shape == (3,)
    assert spyre.FloatTensor().shape == (0,)
    assert spyre.FloatTensor(x).data_ptr() == x.data_ptr()
    assert spyre.FloatTensor(x.untyped_storage()).tolist() == [1, 2, 3, 4]
    assert spyre.IntTensor([1], device="spyre:1").device == torch.device("spyre:1")
    with pytest.raises(TypeError, match="FloatTensor"):
        spyre.FloatTensor(x.double())
    with pytest.raises(RuntimeError, match="expects device type: spyre"):
        spyre.FloatTensor(2, device="cpu")


def test_sparse_classes() -> None:
    from torch.spyre.sparse import FloatTensor

    x = FloatTensor(
        torch.tensor([[0, 1]], device="spyre"), torch.ones(2, device="spyre"), (3,)
    )
    assert (
        x.to_dense().tolist() == [1, 1, 0]
        and x.type() == "torch.spyre.sparse.FloatTensor"
    )
    assert isinstance(x, FloatTensor) and not isinstance(x.to_dense(), FloatTensor)
    assert FloatTensor(2, 3).shape == (2, 3)


@pytest.mark.parametrize("name", STORAGES)
def test_a_storage_class(name: str) -> None:
    made = getattr(spyre, name)([0, 1])
    assert made.device.type == "spyre" and list(made) == [0, 1]
    assert isinstance(made, getattr(spyre, name)) and torch.is_storage(made)
    assert made.type() == f"torch.spyre.{name}"
    assert not isinstance(made.cpu(), getattr(spyre, name))
