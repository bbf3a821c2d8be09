"""Tensors that leave torch: DLPack, pickling, saving."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch
from torch.utils.dlpack import DLDeviceType


def test_dlpack_device_is_an_extension_device() -> None:
    x = torch.ones(3, device="spyre:1")
    assert x.__dlpack_device__() == (DLDeviceType.kDLExtDev, 1)
    assert torch.ones(3).__dlpack_device__() == (DLDeviceType.kDLCPU, 0)


def test_device_patch_is_still_needed() -> None:
    original = torch.Tensor.__dlpack_device__.__wrapped__
    with pytest.raises(ValueError, match=r"[Uu]nknown device type"):
        original(torch.ones(3, device="spyre"))


def test_dlpack_shares_memory_both_ways() -> None:
    x = torch.arange(6.0, device="spyre").view(2, 3).t()
    y = torch.from_dlpack(x)
    assert (y.data_ptr(), y.stride(), y.device) == (x.data_ptr(), x.stride(), x.device)
    y += 1
    assert x[0, 0].item() == 1


def test_dlpack_makes_the_consumers_stream_wait() -> None:
    consumer = torch.spyre.Stream()
    x = torch.ones(700, 700, device="spyre")
    for _ in range(5):
        x = (x @ x) * 1e-3  # queued on the current stream
    expected = x.clone()
    x.__dlpack__(stream=consumer.spyre_stream)
    with torch.spyre.stream(consumer):
        seen = x.clone()
    consumer.synchronize()
    assert torch.equal(seen, expected)
    x.__dlpack__(stream=-1)
    x.__dlpack__(stream=None)
    with pytest.raises(ValueError, match="no stream with the handle"):
        x.__dlpack__(stream=1 << 40)
    with pytest.raises(TypeError, match="stream must be"):
        x.__dlpack__(stream="0")


@pytest.mark.parametrize("location", [None, "cpu", "spyre:1", {"spyre:0": "spyre:1"}])
def test_load_puts_tensors_where_asked(location: object) -> None:
    x = torch.arange(4.0, device="spyre:0")
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    y = torch.load(file, map_location=location)
    expected = {"cpu": "cpu", None: "spyre:0"}.get(
        location if isinstance(location, (str, type(None))) else "", "spyre:1"
    )
    assert str(y.device) == expected
    assert torch.equal(y.cpu(), x.cpu())


def test_loading_a_file_of_a_missing_card_says_what_to_do() -> None:
    file = io.BytesIO()
    torch.save(torch.ones(2, device="spyre:1"), file)
    data = file.getvalue().replace(b"spyre:1", b"spyre:7")
    with pytest.raises(RuntimeError, match="map_location"):
        torch.load(io.BytesIO(data))


def test_copies_and_pickles_stay_on_their_card() -> None:
    x = torch.rand(3, device="spyre:1")
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y.device == x.device
        assert torch.equal(y.cpu(), x.cpu())
