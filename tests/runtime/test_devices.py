"""Cards: current one, guards, properties, bad indices."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

spyre = torch.spyre


def test_set_device_takes_int_str_and_device() -> None:
    try:
        for device in (1, "spyre:1", torch.device("spyre", 1)):
            spyre.set_device(0)
            spyre.set_device(device)
            assert spyre.current_device() == 1
            assert torch.accelerator.current_device_index() == 1
        spyre.set_device(-1)
        assert spyre.current_device() == 1
    finally:
        spyre.set_device(0)


@pytest.mark.parametrize("index", [2, 99])
def test_an_index_out_of_range_raises_and_changes_nothing(index: int) -> None:
    with pytest.raises(torch.AcceleratorError, match="invalid device ordinal"):
        spyre.set_device(index)
    with pytest.raises(torch.AcceleratorError, match="invalid device ordinal"):
        torch.empty(1, device=f"spyre:{index}")
    assert spyre.current_device() == 0
    assert torch.ones(1, device="spyre").item() == 1


def test_another_device_type_raises_value_error() -> None:
    with pytest.raises(ValueError, match="Expected a spyre device"):
        spyre.set_device("cpu")
    with pytest.raises(ValueError, match="Expected a spyre device"):
        spyre.memory_allocated("cuda:0")


def test_device_context_restores_after_an_exception() -> None:
    with pytest.raises(KeyError), spyre.device(1):
        assert torch.empty(1, device="spyre").device.index == 1
        raise KeyError
    assert spyre.current_device() == 0


@pytest.mark.parametrize("nothing", [None, -1])
def test_device_context_of_nothing_changes_nothing(nothing: int | None) -> None:
    with spyre.device(nothing):
        assert spyre.current_device() == 0


def test_device_of_follows_spyre_tensors_only() -> None:
    with spyre.device_of(torch.empty(1, device="spyre:1")):
        assert spyre.current_device() == 1
    with spyre.device_of(torch.empty(1)):
        assert spyre.current_device() == 0


def test_the_current_card_belongs_to_a_thread() -> None:
    seen: list[int] = []
    with spyre.device(1):
        thread = threading.Thread(target=lambda: seen.append(spyre.current_device()))
        thread.start()
        thread.join()
    assert seen == [0]


def test_properties_are_those_of_a_card_and_picklable() -> None:
    properties = spyre.get_device_properties("spyre:1")
    assert pickle.loads(pickle.dumps(properties)) == properties
    assert properties.multi_processor_count == 32
    assert properties.total_memory == spyre.mem_get_info(1)[1]
    assert properties.uuid != spyre.get_device_properties(0).uuid
    assert spyre.get_device_name() == properties.name
    assert spyre.get_device_capability() == (properties.major, properties.minor)


def test_cards_are_peers_of_each_other() -> None:
    assert spyre.can_device_access_peer(0, 1)
    assert not spyre.can_device_access_peer(0, 0)
    with pytest.raises(AssertionError, match="Invalid peer device id"):
        spyre.can_device_access_peer(0, 5)


def test_copies_between_cards_are_direct() -> None:
    x = torch.arange(1000.0, device="spyre:0")
    y = x.to("spyre:1")
    assert y.device.index == 1
    assert torch.equal(y.cpu(), x.cpu())


@pytest.mark.parametrize("mode", ["default", "warn", "error"])
def test_sync_debug_mode_reacts_to_implicit_synchronisation(mode: str) -> None:
    x = torch.ones(1, device="spyre")
    spyre.set_sync_debug_mode(mode)
    try:
        assert spyre.get_sync_debug_mode() == ["default", "warn", "error"].index(mode)
        if mode == "default":
            assert x.item() == 1
        elif mode == "warn":
            with pytest.warns(UserWarning, match="synchronizing Spyre operation"):
                x.item()
        else:
            with pytest.raises(RuntimeError, match="synchronizing Spyre operation"):
                x.item()
    finally:
        spyre.set_sync_debug_mode("default")


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x.cpu(),
        lambda x: x.tolist(),
        lambda x: x.nonzero(),
        lambda x: x[x > 0],
        lambda x: torch.masked_select(x, x > 0),
        lambda x: torch.unique(x),
        lambda x: torch.equal(x, x),
        lambda x: x.repeat_interleave(torch.tensor([1, 2, 1], device="spyre")),
        lambda x: torch.ones(3).to("spyre"),
    ],
)
def test_sync_debug_mode_knows_all_that_wait(
    use: Callable[[torch.Tensor], Any],
) -> None:
    """Whether anything is pending makes no difference, as on CUDA."""
    x = torch.ones(3, device="spyre")
    spyre.synchronize()
    spyre.set_sync_debug_mode("error")
    try:
        with pytest.raises(RuntimeError, match="synchronizing Spyre operation"):
            use(x)
        (
            x[
                torch.tensor([0, 1], device="cpu")
                .pin_memory()
                .to("spyre", non_blocking=True)
            ]
            + 1
        )
        torch.ones(3).pin_memory().to("spyre", non_blocking=True)
        spyre.synchronize()
    finally:
        spyre.set_sync_debug_mode("default")


def test_sync_debug_mode_refuses_unknown_modes() -> None:
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        spyre.set_sync_debug_mode("loud")
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        spyre.set_sync_debug_mode(7)


def test_visible_devices_may_hide_all_cards() -> None:
    from tests.runtime.test_registration import run_python

    code = (
        "import torch; print(torch.spyre.is_available(), torch.spyre.device_count());"
        "torch.empty(1, device='spyre')"
    )
    result = run_python(code, SPYRE_VISIBLE_DEVICES="")
    assert result.stdout.split() == ["False", "0"]
    assert "No Spyre devices are available" in result.stderr
