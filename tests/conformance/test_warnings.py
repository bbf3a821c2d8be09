"""The card warns where the CPU warns, and nowhere else."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.conformance import operator_cases
from tests.conformance.comparison import gradients, tensors

# Said once per new tensor of the kind, which a copy to the card is.
ABOUT_TENSORS = re.compile(r"^(Sparse CSR tensor support|ComplexHalf support)")


@pytest.fixture(autouse=True)
def every_warning() -> Iterator[None]:
    """Warnings that ATen gives once per process are given each time."""
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)


def warnings_of(op: Any, sample: Any, inputs: Any, card: bool) -> set[tuple[str, str]]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        gradients(
            lambda: sample.output_process_fn_grad(operator_cases.seeded(op, *inputs)),
            tensors(inputs),
            card,
        )
        torch.spyre.synchronize()
    texts = {
        (w.category.__name__, str(w.message).split("(Triggered")[0]) for w in found
    }
    return {(kind, text) for kind, text in texts if not ABOUT_TENSORS.match(text)}


def compare(pattern: str) -> dict[str, Any]:
    """Entries whose warnings differ from the CPU's in forward and backward."""
    different = {}
    for name, op in operator_cases.operators().items():
        if not re.search(pattern, name) or not operator_cases.has_dtype(
            op, torch.float32
        ):
            continue
        grad = op.supports_autograd
        for sample in operator_cases.samples(op, torch.float32, grad, 6):
            try:
                theirs = warnings_of(
                    op, sample, operator_cases.host_inputs(sample, grad), False
                )
            except Exception:  # the CPU has no result to compare with
                continue
            inputs = operator_cases.card_inputs(op, sample, grad)
            ours = warnings_of(op, sample, inputs, True)
            if ours != theirs:
                different[name] = ours ^ theirs
    return different


def test_losses_and_what_the_cpu_warns_of() -> None:
    assert not compare(
        r"(mse|l1|huber|kl_div)_?(loss|div)?$|^(std|var|nanmean|qr|lu|stft)$|interpolate"
    )


@pytest.mark.slow
def test_every_operator() -> None:
    assert not compare("")
