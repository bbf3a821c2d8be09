"""Seeds and generator states of the cards.

A state is CUDA's 16 bytes: seed and offset (csrc/runtime/generator.h, Note [Generator state]).
Dynamo must not trace into these functions: they work on real generators.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch._C._dynamo import eval_frame as _eval_frame

from torch_spyre import _C
from torch_spyre.devices import Device, _get_device_index

__all__ = [
    "default_generators",
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]

default_generators: tuple[torch.Generator, ...] = tuple(
    _C.default_generator(index) for index in range(_C.device_count())
)


def _generator(device: Device) -> torch.Generator:
    return _C.default_generator(_get_device_index(device, optional=True))


def get_rng_state(device: int | str | torch.device = "spyre") -> Tensor:
    """State of a card's default generator: uint8 [16] on the host."""
    return _generator(device).get_state()


def get_rng_state_all() -> list[Tensor]:
    """States of all cards' default generators."""
    return [get_rng_state(index) for index in range(_C.device_count())]


def set_rng_state(
    new_state: Tensor, device: int | str | torch.device = "spyre"
) -> None:
    """Sets the state of a card's default generator.

    Args:
        new_state: uint8 [16], as get_rng_state() gives it.
    """
    _generator(device).set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Sets the states of all cards' default generators."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seeds the current card's default generator."""
    _generator(None).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds the default generators of all cards alike; torch.manual_seed calls it."""
    for index in range(_C.device_count()):
        _generator(index).manual_seed(int(seed))


def seed() -> None:
    """Seeds the current card's default generator with a random number."""
    _generator(None).seed()


def seed_all() -> None:
    """Seeds all cards' default generators with one random number."""
    if _C.device_count() > 0:
        manual_seed_all(_generator(0).seed())


def initial_seed() -> int:
    """The seed of the current card's default generator."""
    return _generator(None).initial_seed()


def _get_rng_state_offset(device: int | str | torch.device = "spyre") -> int:
    return _C.generator_offset(_get_device_index(device, optional=True))


def _set_rng_state_offset(
    offset: int, device: int | str | torch.device = "spyre"
) -> None:
    _C.set_generator_offset(_get_device_index(device, optional=True), offset)


_skip = _eval_frame._FrameAction.SKIP
_never_trace = _eval_frame._FrameExecStrategy(_skip, _skip)
for _function in (
    get_rng_state,
    get_rng_state_all,
    set_rng_state,
    set_rng_state_all,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    initial_seed,
    _get_rng_state_offset,
    _set_rng_state_offset,
):
    _function._torchdynamo_disable = True  # type: ignore[attr-defined]
    # A frame that Dynamo meets first, not inlined from another one, has no function object.
    _eval_frame.set_code_exec_strategy(_function.__code__, _never_trace)
