"""Saving, loading, copying: torch.save/load in every form, pickle, deepcopy, DLPack."""

from __future__ import annotations

import copy
import io
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.dlpack import DLDeviceType


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "two.pt"
    torch.save(
        {
            "first": torch.arange(4.0, device="spyre:0"),
            "second": torch.arange(6.0, device="spyre:1").reshape(2, 3).t(),
        },
        path,
    )
    return path


@pytest.mark.parametrize(
    ("location", "first", "second"),
    [
        (None, "spyre:0", "spyre:1"),
        ("cpu", "cpu", "cpu"),
        ("spyre", "spyre:0", "spyre:0"),
        ("spyre:1", "spyre:1", "spyre:1"),
        (torch.device("spyre", 1), "spyre:1", "spyre:1"),
        ({"spyre:1": "spyre:0"}, "spyre:0", "spyre:0"),
        ({"spyre:0": "cpu"}, "cpu", "spyre:1"),
        (lambda storage, location: storage, "cpu", "cpu"),
        (lambda storage, location: storage.spyre(1), "spyre:1", "spyre:1"),
        ("meta", "meta", "meta"),
    ],
)
def test_map_location(saved: Path, location: Any, first: str, second: str) -> None:
    loaded = torch.load(saved, map_location=location)
    assert str(loaded["first"].device) == first
    assert str(loaded["second"].device) == second
    if first != "meta":
        assert loaded["first"].tolist() == [0.0, 1.0, 2.0, 3.0]
        assert loaded["second"].tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    assert loaded["second"].stride() == (1, 3)


@pytest.mark.parametrize("location", ["cpu", "spyre:1", None])
def test_mmap(saved: Path, location: str | None) -> None:
    loaded = torch.load(saved, map_location=location, mmap=True)
    assert loaded["first"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert loaded["first"].device == torch.device(location or "spyre:0")


def test_legacy_format_and_full_pickle() -> None:
    buffer = io.BytesIO()
    torch.save(
        torch.arange(3.0, device="spyre:1"),
        buffer,
        _use_new_zipfile_serialization=False,
    )
    buffer.seek(0)
    loaded = torch.load(buffer, weights_only=False)
    assert loaded.device == torch.device("spyre:1") and loaded.tolist() == [
        0.0,
        1.0,
        2.0,
    ]


@pytest.mark.filterwarnings("ignore:.*quantized tensor creation")
@pytest.mark.parametrize("per_channel", [False, True])
def test_quantized_tensors_round_trip(tmp_path: Path, per_channel: bool) -> None:
    x = torch.tensor([[0.0, 1.0], [2.0, 3.0]])
    if per_channel:
        scales, zeros = torch.tensor([0.1, 0.2]), torch.zeros(2, dtype=torch.long)
        q = torch.quantize_per_channel(x, scales, zeros, 0, torch.qint8)
    else:
        q = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)
    torch.save(q.to("spyre"), tmp_path / "q.pt")
    loaded = torch.load(tmp_path / "q.pt")
    assert loaded.device.type == "spyre" and loaded.qscheme() == q.qscheme()
    assert torch.equal(loaded.dequantize().cpu(), q.dequantize())
    assert torch.load(tmp_path / "q.pt", map_location="cpu").device.type == "cpu"


def test_shared_storage_stays_shared(tmp_path: Path) -> None:
    base = torch.zeros(4, device="spyre")
    torch.save([base, base[1:3]], tmp_path / "x.pt")
    whole, part = torch.load(tmp_path / "x.pt")
    whole.fill_(5)
    assert part.tolist() == [5.0, 5.0]


def test_file_of_two_cards_on_one_card_gives_cudas_sentence(saved: Path) -> None:
    program = (
        "import sys, torch\n"
        "try:\n    torch.load(sys.argv[1])\n"
        "except RuntimeError as error:\n    print(error)\n"
        "print(torch.load(sys.argv[1], map_location='spyre:0')['second'].tolist())\n"
    )
    environment = dict(os.environ, SPYRE_DEVICE_COUNT="1")
    result = subprocess.run(
        [sys.executable, "-c", program, str(saved)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert "Attempting to deserialize object on SPYRE device 1" in result.stdout
    assert "torch.spyre.device_count() is 1" in result.stdout
    assert "use torch.load with map_location" in result.stdout
    assert "[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]" in result.stdout


def test_module_and_optimizer_state_round_trip(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)).to(
        "spyre"
    )
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.rand(3, 4, device="spyre")).sum().backward()
    optimizer.step()
    torch.save(
        {"model": model.state_dict(), "optimizer": optimizer.state_dict()},
        tmp_path / "c",
    )
    loaded = torch.load(tmp_path / "c")
    again = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)).to(
        "spyre"
    )
    again.load_state_dict(loaded["model"])
    torch.optim.AdamW(again.parameters()).load_state_dict(loaded["optimizer"])
    for mine, theirs in zip(model.parameters(), again.parameters(), strict=True):
        assert mine.device == theirs.device and torch.equal(mine.cpu(), theirs.cpu())


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_deepcopy_and_pickle(duplicate: Callable[[Any], Any]) -> None:
    base = torch.arange(12.0, device="spyre:1").reshape(3, 4)
    view, again = duplicate([base[1:].t(), base])
    assert view.device == torch.device("spyre:1") and view.stride() == (1, 4)
    assert torch.equal(view.cpu(), base[1:].t().cpu())
    again.zero_()
    assert base.sum().item() == 66.0
    parameter = duplicate(torch.nn.Parameter(torch.ones(2, device="spyre")))
    assert isinstance(parameter, torch.nn.Parameter) and parameter.requires_grad


def test_deepcopy_keeps_views_of_one_storage() -> None:
    base = torch.ones(4, device="spyre")
    view, again = copy.deepcopy([base[1:], base])
    again.zero_()
    assert view.count_nonzero().item() == 0


def test_dlpack_shares_memory_and_names_the_card() -> None:
    x = torch.arange(6.0, device="spyre:1").reshape(2, 3)
    assert x.__dlpack_device__() == (DLDeviceType.kDLExtDev, 1)
    y = torch.from_dlpack(x.t())
    assert (
        y.device == x.device and y.data_ptr() == x.data_ptr() and y.stride() == (1, 3)
    )
    y.zero_()
    assert x.count_nonzero().item() == 0


def test_dlpack_capsules_and_versions() -> None:
    x = torch.arange(3.0, device="spyre")
    assert torch.from_dlpack(torch.utils.dlpack.to_dlpack(x)).data_ptr() == x.data_ptr()
    for version in (None, (0, 8), (1, 0)):
        assert (
            torch.from_dlpack(x.__dlpack__(max_version=version)).data_ptr()
            == x.data_ptr()
        )


def test_dlpack_copy_and_device_arguments() -> None:
    x = torch.arange(3.0, device="spyre:0")
    assert torch.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert torch.from_dlpack(x, copy=False).data_ptr() == x.data_ptr()
    assert torch.from_dlpack(x, device="spyre:0").data_ptr() == x.data_ptr()
    for target in ("cpu", "spyre:1"):
        y = torch.from_dlpack(x, device=target)
        assert y.device == torch.device(target) and y.tolist() == [0.0, 1.0, 2.0]
    assert torch.from_dlpack(torch.arange(3.0), device="spyre:0").device == x.device
    with pytest.raises(ValueError, match="without copying"):
        torch.from_dlpack(x, device="cpu", copy=False)
    capsule = x.__dlpack__(dl_device=(DLDeviceType.kDLCPU, 0))
    assert torch.from_dlpack(capsule).device.type == "cpu"


def test_dlpack_refuses_what_cuda_refuses() -> None:
    x = torch.ones(2, device="spyre", requires_grad=True)
    with pytest.raises(BufferError, match="require gradient"):
        x.__dlpack__()
    with pytest.raises(BufferError, match="conjugate"):
        torch.ones(2, dtype=torch.complex64, device="spyre").conj().__dlpack__()
    with pytest.raises(TypeError, match="stream must be"):
        torch.ones(2, device="spyre").__dlpack__(stream="0")
