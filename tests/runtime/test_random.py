"""Generators: seeds, states, and the same numbers as on the CPU."""

from __future__ import annotations

import pytest
import torch

spyre = torch.spyre


def draw(numel: int = 7, **kwargs: object) -> torch.Tensor:
    return torch.randn(numel, device="spyre", **kwargs).cpu()


def test_a_seed_gives_the_cpus_numbers() -> None:
    torch.manual_seed(3)
    on_card = [draw(3), draw(100), torch.rand(5, device="spyre").cpu()]
    torch.manual_seed(3)
    on_cpu = [torch.randn(3), torch.randn(100), torch.rand(5)]
    for a, b in zip(on_card, on_cpu, strict=True):
        assert torch.equal(a, b)


def test_state_has_cudas_layout() -> None:
    spyre.manual_seed(5)
    state = spyre.get_rng_state()
    assert (state.dtype, state.shape, state.device.type) == (torch.uint8, (16,), "cpu")
    assert state.view(torch.int64).tolist() == [5, 0]
    torch.rand(1000, device="spyre")
    assert spyre.get_rng_state().view(torch.int64).tolist() == [5, 1000]
    assert spyre.random._get_rng_state_offset() == 1000


@pytest.mark.parametrize("before", [0, 1, 3, 15, 100, 623, 624, 625, 5000])
def test_a_state_restores_the_sequence(before: int) -> None:
    spyre.manual_seed(1)
    draw(before)
    state = spyre.get_rng_state()
    expected = [draw(3), draw(20), draw(1)]
    spyre.set_rng_state(state)
    for value in expected:
        assert torch.equal(draw(value.numel()), value)


@pytest.mark.parametrize("offset", [0, 1, 623, 624, 625, 1248, 100_000])
def test_a_state_never_seen_before_is_reached_by_its_offset(offset: int) -> None:
    seed = 1_000_003
    cpu = torch.Generator().manual_seed(seed)
    if offset:
        torch.rand(offset, generator=cpu)
    state = torch.tensor([seed, offset]).view(torch.uint8)
    spyre.set_rng_state(state)
    assert torch.equal(
        torch.rand(9, device="spyre").cpu(), torch.rand(9, generator=cpu)
    )
    spyre.random._set_rng_state_offset(offset)
    assert spyre.random._get_rng_state_offset() == offset


def test_cards_have_their_own_generators() -> None:
    spyre.manual_seed_all(9)
    first = torch.rand(4, device="spyre:0").cpu()
    assert torch.equal(torch.rand(4, device="spyre:1").cpu(), first)
    with spyre.device(1):
        spyre.manual_seed(4)
    assert spyre.default_generators[1].initial_seed() == 4
    assert spyre.default_generators[0].initial_seed() == 9
    spyre.seed()
    spyre.seed_all()
    seeds = {generator.initial_seed() for generator in spyre.default_generators}
    assert len(seeds) == 1


def test_states_of_all_cards_round_trip() -> None:
    states = spyre.get_rng_state_all()
    expected = [torch.rand(3, device=f"spyre:{i}").cpu() for i in range(2)]
    spyre.set_rng_state_all(states)
    for index, value in enumerate(expected):
        assert torch.equal(torch.rand(3, device=f"spyre:{index}").cpu(), value)


def test_a_generator_object_is_independent() -> None:
    generator = torch.Generator("spyre")
    generator.manual_seed(11)
    torch.manual_seed(0)
    first = draw(5, generator=generator)
    draw(5)
    generator.manual_seed(11)
    assert torch.equal(draw(5, generator=generator), first)
    clone = generator.clone_state() if hasattr(generator, "clone_state") else None
    if clone is not None:
        assert torch.equal(draw(5, generator=clone), draw(5, generator=generator))


def test_fork_rng_restores_the_state() -> None:
    spyre.manual_seed(2)
    with torch.random.fork_rng(devices=[0], device_type="spyre"):
        draw(10)
    after = draw(3)
    spyre.manual_seed(2)
    assert torch.equal(draw(3), after)


def test_wrong_states_are_refused() -> None:
    with pytest.raises(RuntimeError, match="wrong size"):
        spyre.set_rng_state(torch.zeros(5, dtype=torch.uint8))
    with pytest.raises(TypeError, match="ByteTensor"):
        spyre.set_rng_state(torch.zeros(16))
    with pytest.raises(torch.AcceleratorError, match="invalid device ordinal"):
        spyre.get_rng_state("spyre:5")


def test_a_cpu_generator_is_refused() -> None:
    with pytest.raises(RuntimeError, match="generator"):
        torch.rand(3, device="spyre", generator=torch.Generator())


@pytest.mark.parametrize("size", [3, 1 << 20])
def test_a_spyre_generator_is_refused_by_cpu_tensors(size: int) -> None:
    generator = torch.Generator("spyre")
    for call in (
        lambda: torch.rand(size, generator=generator),
        lambda: torch.empty(size).normal_(generator=generator),
        lambda: torch.randperm(size, generator=generator),
        lambda: torch.bernoulli(torch.ones(size), generator=generator),
    ):
        with pytest.raises(RuntimeError, match="Expected a 'cpu' device type"):
            call()
