"""numpy meaning of Random: Philox4x32-10 as Inductor's Triton kernels use it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def philox(seed: np.ndarray, offset: np.ndarray) -> list[np.ndarray]:
    """Four uint32 words of Philox4x32-10 at counter (offset, 0, 0, 0) under key `seed`."""
    mask = np.uint64(0xFFFFFFFF)
    seed64, offset64 = seed.astype(np.uint64), offset.astype(np.uint64)
    key = [seed64 & mask, seed64 >> np.uint64(32)]
    counter = [offset64 & mask, offset64 >> np.uint64(32)]
    counter += [np.zeros_like(counter[0]), np.zeros_like(counter[0])]
    for _ in range(10):
        first = counter[0] * np.uint64(0xD2511F53)
        second = counter[2] * np.uint64(0xCD9E8D57)
        counter = [
            (second >> np.uint64(32)) ^ counter[1] ^ key[0],
            second & mask,
            (first >> np.uint64(32)) ^ counter[3] ^ key[1],
            first & mask,
        ]
        key = [
            (key[0] + np.uint64(0x9E3779B9)) & mask,
            (key[1] + np.uint64(0xBB67AE85)) & mask,
        ]
    return counter


def _uniform(word: np.ndarray) -> np.ndarray:
    signed = word.astype(np.uint32).astype(np.int32)
    folded = np.where(signed < 0, -signed - 1, signed)
    return folded.astype(np.float32) * np.float32(4.6566127342e-10)


def random_values(kind: str, args: Sequence[np.ndarray]) -> np.ndarray:
    """Values of a Random operation."""
    words = philox(args[0], args[1])
    if kind == "rand":
        return _uniform(words[0])
    if kind == "randn":
        first = np.maximum(_uniform(words[0]), np.float32(1e-7))
        angle = np.float32(6.283185307179586) * _uniform(words[1])
        return np.sqrt(np.float32(-2) * np.log(first)) * np.cos(angle)
    if kind == "randint64":
        low, high = args[2].astype(np.uint64), args[3].astype(np.uint64)
        number = words[0] | (words[1] << np.uint64(32))
        size = high - low
        return (number % np.where(size == 0, 1, size) + low).astype(np.int64)
    raise AssertionError(f"unknown random kind {kind}")
