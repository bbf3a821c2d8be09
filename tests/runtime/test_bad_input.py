"""Mistakes raise CUDA's exception types with comparable sentences, and leave the device usable."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch

from tests.runtime.test_registration import run_python
from torch_spyre import _C

CARDS = torch.spyre.device_count()


@pytest.fixture(autouse=True)
def device_is_usable_afterwards() -> Iterator[None]:
    yield
    assert torch.arange(3, device="spyre").add(1).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "use",
    [
        lambda: torch.empty(2, device=f"spyre:{CARDS}"),
        lambda: torch.ones(2).to(f"spyre:{CARDS}"),
        lambda: torch.ones(2).spyre(CARDS),
        lambda: torch.spyre.set_device(CARDS),
        lambda: torch.spyre.synchronize(CARDS),
        lambda: torch.spyre.current_stream(CARDS),
        lambda: torch.spyre.Stream(CARDS),
        lambda: torch.spyre.memory_stats(CARDS),
        lambda: torch.spyre.mem_get_info(CARDS),
        lambda: torch.accelerator.set_device_index(CARDS),
        lambda: torch.Stream(f"spyre:{CARDS}"),
    ],
)
def test_card_that_does_not_exist(use) -> None:
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        use()


@pytest.mark.parametrize(
    "use",
    [
        lambda: torch.spyre.get_device_properties(CARDS),
        lambda: torch.spyre.get_device_properties(-1),
        lambda: torch.spyre.can_device_access_peer(0, CARDS),
        lambda: torch.spyre.can_device_access_peer(CARDS, 0),
        lambda: torch.spyre.get_device_name(CARDS),
        lambda: torch.spyre.get_device_capability(CARDS),
    ],
)
def test_properties_of_a_card_that_does_not_exist(use) -> None:
    with pytest.raises(AssertionError, match=r"Invalid (peer )?device id"):
        use()


def test_error_of_the_device_is_an_accelerator_error_with_a_code() -> None:
    with pytest.raises(torch.AcceleratorError) as caught:
        torch.empty(2, device=f"spyre:{CARDS}")
    assert caught.value.error_code == 101


def test_device_of_another_type() -> None:
    with pytest.raises(ValueError, match="Expected a spyre device, but got: cpu"):
        torch.spyre.synchronize("cpu")


@pytest.mark.parametrize("make", [torch.empty, torch.zeros, torch.rand])
def test_negative_size(make) -> None:
    with pytest.raises(RuntimeError, match=r"(?i)negative"):
        make(-1, device="spyre")


def test_negative_size_of_resize_and_new() -> None:
    with pytest.raises(RuntimeError, match=r"overflow.*-3"):
        torch.empty(2, device="spyre").resize_(-3)
    with pytest.raises(RuntimeError, match="negative dimension"):
        torch.empty(2, device="spyre").new_empty((2, -1))


def test_allocation_over_the_limit_says_how_much_and_what_is_free() -> None:
    with pytest.raises(
        torch.OutOfMemoryError, match=r"Tried to allocate.*total capacity.*free"
    ):
        torch.empty(1 << 46, device="spyre")


def test_allocation_over_the_fraction() -> None:
    total = torch.spyre.get_device_properties(0).total_memory
    torch.spyre.empty_cache()
    torch.spyre.set_per_process_memory_fraction(0.01)
    try:
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(total // 50, dtype=torch.uint8, device="spyre")
    finally:
        torch.spyre.set_per_process_memory_fraction(1.0)


@pytest.mark.parametrize("fraction", [-0.1, 1.5])
def test_fraction_out_of_range(fraction: float) -> None:
    with pytest.raises(ValueError, match="Invalid fraction value"):
        torch.spyre.set_per_process_memory_fraction(fraction)


@pytest.mark.parametrize("fraction", ["0.5", None])
def test_fraction_of_wrong_type(fraction: object) -> None:
    with pytest.raises(TypeError, match="Invalid type for fraction"):
        torch.spyre.set_per_process_memory_fraction(fraction)


def test_operands_on_two_devices() -> None:
    one = torch.ones(2, device="spyre:0")
    for other in (torch.ones(2), torch.ones(2, device="spyre:1")):
        with pytest.raises(
            RuntimeError, match="Expected all tensors to be on the same device"
        ):
            one + other


def test_event_recorded_on_a_stream_of_another_card() -> None:
    event = torch.spyre.Event()
    event.record(torch.spyre.current_stream(0))
    with pytest.raises(RuntimeError, match=r"(?i)device"):
        event.record(torch.spyre.current_stream(1))


def test_stream_of_another_device_type() -> None:
    alien = torch.Stream(device="cpu")
    with pytest.raises((ValueError, RuntimeError), match=r"(?i)spyre|device type"):
        torch.spyre.set_stream(alien)
    with pytest.raises((ValueError, RuntimeError), match=r"(?i)spyre|device"):
        torch.ones(2, device="spyre").record_stream(alien)


def test_external_stream_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="no stream with the handle"):
        torch.spyre.ExternalStream(1 << 40)


def test_destroyed_stream_is_refused() -> None:
    handle = _C.create_stream(0, 0)
    stream = torch.spyre.ExternalStream(handle, 0)
    _C.destroy_stream(0, handle)
    with (
        pytest.raises(
            (ValueError, RuntimeError), match=r"(?i)destroyed|no stream|not a stream"
        ),
        torch.spyre.stream(stream),
    ):
        torch.ones(2, device="spyre") + 1
    with pytest.raises(
        (ValueError, RuntimeError), match=r"(?i)destroyed|no stream|not a stream"
    ):
        stream.synchronize()


def test_elapsed_time_without_timing_or_record() -> None:
    plain, other = torch.spyre.Event(), torch.spyre.Event()
    plain.record()
    other.record()
    with pytest.raises((ValueError, RuntimeError), match=r"(?i)timing"):
        plain.elapsed_time(other)
    timed, unrecorded = (torch.spyre.Event(enable_timing=True) for _ in range(2))
    timed.record()
    with pytest.raises((ValueError, RuntimeError), match=r"(?i)record"):
        timed.elapsed_time(unrecorded)


def test_synchronizing_during_capture() -> None:
    graph = torch.spyre.SpyreGraph()
    x = torch.ones(4, device="spyre")
    with pytest.raises(RuntimeError, match=r"(?i)captur"), torch.spyre.graph(graph):
        x.sum().item()


def test_capture_inside_a_capture_and_replay_without_one() -> None:
    with pytest.raises(RuntimeError, match=r"(?i)captur"):
        torch.spyre.SpyreGraph().replay()
    graph = torch.spyre.SpyreGraph()
    with (
        pytest.raises(RuntimeError, match=r"(?i)captur"),
        torch.spyre.graph(graph),
        torch.spyre.graph(torch.spyre.SpyreGraph()),
    ):
        torch.ones(2, device="spyre").add_(1)


def test_capture_misuse_raises_cudas_way() -> None:
    graph, stream = torch.spyre.SpyreGraph(), torch.spyre.Stream()
    with pytest.raises(RuntimeError, match="without a matching capture_begin"):
        graph.capture_end()
    with pytest.raises(RuntimeError, match="non-default stream"):
        graph.capture_begin()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.pool()
    with torch.spyre.stream(stream):
        graph.capture_begin()
        try:
            with pytest.raises(RuntimeError, match="already owns a captured graph"):
                graph.capture_begin()
            with pytest.raises(RuntimeError, match="during stream capture only if"):
                torch.spyre.manual_seed(torch.spyre.initial_seed() + 1)
            torch.spyre.manual_seed(torch.spyre.initial_seed())
        finally:
            graph.capture_end()


def test_event_of_another_device_and_wrong_handles() -> None:
    with pytest.raises(RuntimeError, match="does not match recording stream's device"):
        torch.spyre.Event().record(torch.Stream("cpu"))
    with pytest.raises(RuntimeError, match="doesn't support events"):
        torch.spyre.current_stream().wait_stream(torch.Stream("cpu"))
    with pytest.raises(TypeError, match=r"expected a torch\.Event"):
        torch.spyre.Event(enable_timing=True).elapsed_time(3)
    for handle in (b"abc", b"1:2:3:x", 7):
        with pytest.raises(ValueError, match="expected a handle"):
            torch.spyre.Event.from_ipc_handle(0, handle)


def test_without_cards_every_use_says_so() -> None:
    result = run_python(
        "import torch\n"
        "assert not torch.spyre.is_available() and torch.spyre.get_arch_list() == []\n"
        "torch.manual_seed(0)\n"
        "for use in (lambda: torch.ones(2).pin_memory(), torch.spyre.current_device,\n"
        "            lambda: torch.empty(2, device='spyre'), torch.spyre.Stream):\n"
        "    try: use()\n"
        "    except RuntimeError as error: assert 'No Spyre devices' in str(error), error\n"
        "    else: raise SystemExit('nothing was raised')\n",
        SPYRE_VISIBLE_DEVICES="",
    )
    assert result.returncode == 0, result.stderr


def test_generator_of_another_device() -> None:
    generator = torch.Generator("cpu")
    with pytest.raises(
        RuntimeError, match="Expected a 'spyre' device type for generator"
    ):
        torch.rand(2, device="spyre", generator=generator)
    with pytest.raises(
        RuntimeError, match="Expected a 'spyre' device type for generator"
    ):
        torch.randperm(4, device="spyre", generator=generator)


def test_numpy_of_a_card_tensor() -> None:
    with pytest.raises(TypeError, match=r"can't convert spyre.*Tensor\.cpu\(\)"):
        torch.ones(2, device="spyre").numpy()


def test_index_out_of_range_is_reported_not_fatal() -> None:
    x = torch.ones(4, device="spyre")
    with pytest.raises((IndexError, RuntimeError), match=r"(?i)out of (bounds|range)"):
        x[torch.tensor([7], device="spyre")].sum().item()
    with pytest.raises((IndexError, RuntimeError), match=r"(?i)out of (bounds|range)"):
        torch.nn.functional.embedding(
            torch.tensor([9], device="spyre"), torch.ones(3, 2, device="spyre")
        ).sum().item()


def test_errors_in_threads_stay_in_their_thread() -> None:
    caught: list[str] = []

    def work(card: int) -> None:
        try:
            torch.empty(2, device=f"spyre:{card}").add_(1)
        except RuntimeError as error:
            caught.append(str(error))

    threads = [
        threading.Thread(target=work, args=(card,)) for card in (0, CARDS, 1, CARDS + 3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(caught) == 2 and all("invalid device ordinal" in text for text in caught)
