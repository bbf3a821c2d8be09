"""op_db of the installed torch on the card: what one entry gives in one dtype, mode by mode.

Modes: forward; queued (behind other work, so that nothing runs on the calling thread); other card
(the tensors and the results are on a card that is not the current one); captured (recorded in a
graph with its gradients and replayed; float32 only); out (filled, and empty so that it is resized);
inplace; backward; sparse (all layouts an entry names); errors (wrong inputs raise what op_db says).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any

import torch

from tests.conformance.capture_refusals import is_refused
from tests.conformance.comparison import (
    OTHER,
    SPYRE,
    check_equal,
    copies,
    gradients,
    moved_nest,
    tensors,
    to_card,
)

DTYPES = (
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.bool,
    torch.complex64,
    torch.float64,
)
# Their values are whatever was in memory.
UNINITIALISED = {
    "empty",
    "empty_like",
    "empty_strided",
    "empty_permuted",
    "new_empty",
    "new_empty_strided",
}
# Arguments that stay on the host on every device.
HOST_ARGUMENTS = {"tensor_split"}
LAYOUTS = {
    "supports_sparse": torch.sparse_coo,
    "supports_sparse_csr": torch.sparse_csr,
    "supports_sparse_csc": torch.sparse_csc,
    "supports_sparse_bsr": torch.sparse_bsr,
    "supports_sparse_bsc": torch.sparse_bsc,
}


class NoResult(Exception):
    """The CPU gives nothing to compare with, or the entry lacks the mode."""


@cache
def operators() -> dict[str, Any]:
    """OpInfo entries by full name; jiterator entries are CUDA only."""
    from torch.testing._internal.common_methods_invocations import op_db

    return {op.full_name: op for op in op_db if "jiterator" not in op.name}


def has_dtype(op: Any, dtype: torch.dtype) -> bool:
    return dtype in op.supported_dtypes("cpu")


def run_mode(name: str, dtype: torch.dtype, mode: str, limit: int) -> int:
    """Compares at most `limit` samples and says how many; AssertionError or the card's own
    error where it differs, NoResult where there is nothing to compare."""
    op = operators()[name]
    compared = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for compare in CHECKS[mode](op, dtype, limit):
            compared += compare()
    if compared == 0:
        raise NoResult
    return compared


Checks = Iterator[Callable[[], bool]]


def spread(found: list[Any], limit: int) -> list[Any]:
    """At most `limit` items, evenly spread."""
    step = max(1, -(-len(found) // limit))
    return found[::step]


def seed(number: int) -> None:
    """torch.manual_seed for the CPU and the card only: for backends that are not there, it
    keeps a stack trace per call."""
    torch.default_generator.manual_seed(number)
    torch.spyre.manual_seed_all(number)


@lru_cache(maxsize=2)  # the modes of a case share them
def all_samples(name: str, dtype: torch.dtype, grad: bool) -> list[Any]:
    seed(0)
    op = operators()[name]
    return list(op.sample_inputs("cpu", dtype, requires_grad=grad, set_seed=False))


def samples(op: Any, dtype: torch.dtype, grad: bool, limit: int) -> list[Any]:
    return spread(all_samples(op.full_name, dtype, grad), limit)


def card_inputs(
    op: Any, sample: Any, grad: bool = False, card: torch.device = SPYRE
) -> tuple[Any, Any, Any]:
    given = (sample.input, sample.args, sample.kwargs)
    value, args, kwargs = to_card(given, grad, card)
    return value, sample.args if op.name in HOST_ARGUMENTS else args, kwargs


def host_inputs(sample: Any, grad: bool = False) -> Any:
    """Made as the card's are: the sample is not written to, views of it have no history."""
    given = (sample.input, sample.args, sample.kwargs)
    return moved_nest(given, torch.device("cpu"), grad)


def seeded(function: Callable[..., Any], value: Any, args: Any, kwargs: Any) -> Any:
    seed(1)
    return function(value, *args, **kwargs)


def forward(op: Any, dtype: torch.dtype, limit: int) -> Checks:
    for sample in samples(op, dtype, False, limit):
        yield lambda sample=sample: compare_forward(op, sample)


def queued(op: Any, dtype: torch.dtype, limit: int) -> Checks:
    for sample in samples(op, dtype, False, min(limit, 2)):
        yield lambda sample=sample: compare_forward(op, sample, queued=True)


def other_card(op: Any, dtype: torch.dtype, limit: int) -> Checks:
    for sample in samples(op, dtype, False, min(limit, 2)):
        yield lambda sample=sample: compare_forward(op, sample, card=OTHER)


def captured(op: Any, dtype: torch.dtype, limit: int) -> Checks:
    if dtype is torch.float32:
        for sample in samples(op, dtype, False, min(limit, 2)):
            yield lambda sample=sample: compare_captured(op, sample, grad=False)
        if op.supports_autograd and dtype in op.supported_backward_dtypes("cpu"):
            for sample in samples(op, dtype, True, 1):
                yield lambda sample=sample: compare_captured(op, sample, grad=True)


def compare_captured(op: Any, sample: Any, grad: bool) -> bool:
    def results(inputs: Any) -> list[torch.Tensor]:
        found = op(inputs[0], *inputs[1], **inputs[2])
        if not grad:
            return found
        outputs = [t for t in tensors(found) if t.requires_grad and t.grad_fn]
        leaves = [t for t in tensors(inputs) if t.requires_grad]
        weights = [torch.ones_like(t) for t in outputs]
        return list(torch.autograd.grad(outputs, leaves, weights, allow_unused=True))

    try:
        seed(1)
        expected = results(host_inputs(sample, grad))
    except Exception:  # the CPU has no result to compare with
        return False
    graph = torch.spyre.SpyreGraph()
    with torch.spyre.stream(side_stream()):  # autograd wants no node of another stream
        inputs = card_inputs(op, sample, grad)
        seed(1)
        graph.capture_begin()
        try:
            try:
                found = results(inputs)
            finally:
                graph.capture_end()
        except RuntimeError as error:
            if is_refused(op.full_name, str(error)):
                return False
            raise
        graph.replay()
        torch.spyre.synchronize()
    check_equal(found, expected, op.name in UNINITIALISED)
    return True


@cache
def side_stream() -> torch.spyre.Stream:
    return torch.spyre.Stream()


@cache
def busy_matrix() -> torch.Tensor:
    return torch.rand(320, 320, device=SPYRE)


def compare_forward(
    op: Any, sample: Any, queued: bool = False, card: torch.device = SPYRE
) -> bool:
    try:
        expected = seeded(op, *host_inputs(sample))
    except Exception:  # the CPU has no result to compare with
        return False
    inputs = card_inputs(op, sample, card=card)
    if queued:
        torch.mm(busy_matrix(), busy_matrix())
    result = seeded(op, *inputs)
    check_equal(result, expected, op.name in UNINITIALISED, card)
    return True


def out(op: Any, dtype: torch.dtype, limit: int) -> Checks:
    if not op.supports_out:
        return
    for sample in samples(op, dtype, False, min(limit, 3)):
        yield lambda sample=sample: compare_out(op, sample)


def compare_out(op: Any, sample: Any) -> bool:
    given = (sample.input, sample.args, sample.kwargs)

    def into(inputs: Any, make: Callable[[torch.Tensor], torch.Tensor]) -> Any:
        seed(1)
        made = [make(t) for t in tensors(expected)]
        target = made[0] if isinstance(expected, torch.Tensor) else tuple(made)
        value, args, kwargs = inputs
        result = tensors(op(value, *args, out=target, **kwargs))
        same = [a.data_ptr() == b.data_ptr() for a, b in zip(result, made, strict=True)]
        assert all(same), "out= is not what was returned"
        return made

    try:
        expected = seeded(op, *given)
    except Exception:  # the CPU has no result to compare with
        return False
    compared = False
    for make in (lambda t: torch.ones_like(t), lambda t: t.new_empty(0)):
        try:
            theirs = into(given, make)
        except Exception:  # the CPU does not take it
            continue
        ours = into(card_inputs(op, sample), lambda t, make=make: make(t).to(SPYRE))
        check_equal(ours, theirs, op.name in UNINITIALISED)
        compared = True
    check_wrong_out(op, sample, given, expected)
    return compared


def check_wrong_out(op: Any, sample: Any, given: Any, expected: Any) -> None:
    """A result's dtype that cannot be cast to out='s is refused where the CPU refuses it."""
    if not isinstance(expected, torch.Tensor) or not expected.is_floating_point():
        return
    wrong = torch.empty(expected.shape, dtype=torch.int64)
    value, args, kwargs = given
    try:
        op(value, *args, out=wrong, **kwargs)
    except Exception as error:
        kind = type(error)
    else:
        return
    value, args, kwargs = card_inputs(op, sample)
    raises_same(lambda: op(value, *args, out=wrong.to(SPYRE), **kwargs), kind)


def raises_same(call: Callable[[], Any], kind: type[BaseException]) -> None:
    try:
        call()
        torch.spyre.synchronize()
    except kind:
        return
    except Exception as error:
        raise AssertionError(
            f"raises {type(error).__name__} instead of {kind.__name__}: {error}"
        ) from error
    raise AssertionError(f"does not raise {kind.__name__}")


def inplace(op: Any, dtype: torch.dtype, limit: int) -> Checks:
    function = op.get_inplace()
    if function is None:
        return
    for sample in samples(op, dtype, False, min(limit, 3)):
        if not sample.broadcasts_input:
            yield lambda sample=sample: compare_inplace(op, function, sample)


def compare_inplace(op: Any, function: Any, sample: Any) -> bool:
    theirs, args, kwargs = copies((sample.input, sample.args, sample.kwargs))
    try:
        seeded(function, theirs, args, kwargs)
    except Exception:  # the CPU has no result to compare with
        return False
    ours, args, kwargs = card_inputs(op, sample)
    result = seeded(function, ours, args, kwargs)
    check_equal(ours, theirs, op.name in UNINITIALISED)
    if isinstance(ours, torch.Tensor) and isinstance(result, torch.Tensor):
        assert result is ours, "another tensor was returned"
    return True


def backward(op: Any, dtype: torch.dtype, limit: int) -> Checks:
    if not op.supports_autograd or dtype not in op.supported_backward_dtypes("cpu"):
        return
    for sample in samples(op, dtype, True, limit):
        yield lambda sample=sample: compare_backward(op, sample)


def compare_backward(op: Any, sample: Any) -> bool:
    def run(inputs: Any, card: bool) -> list[torch.Tensor | None]:
        return gradients(
            lambda: sample.output_process_fn_grad(seeded(op, *inputs)),
            tensors(inputs),
            card,
        )

    try:
        expected = run(host_inputs(sample, grad=True), False)
    except Exception:  # the CPU has no result to compare with
        return False
    if not any(grad is not None for grad in expected):
        return False
    result = run(card_inputs(op, sample, grad=True), True)
    check_equal(result, expected, op.name in UNINITIALISED)
    return True


def sparse(op: Any, dtype: torch.dtype, limit: int) -> Checks:
    for attribute, layout in LAYOUTS.items():
        if not getattr(op, attribute):
            continue
        seed(0)
        try:
            found = list(op.sample_inputs_sparse(layout, "cpu", dtype))
        except Exception:  # torch has no samples of this layout and dtype
            continue
        for sample in spread(found, limit):
            yield lambda sample=sample: compare_forward(op, sample)


def errors(op: Any, dtype: torch.dtype, limit: int) -> Checks:
    # Wrong inputs do not depend on the dtype.
    if dtype is not torch.float32 or op.error_inputs_func is None:
        return
    for theirs, ours in zip(op.error_inputs("cpu"), op.error_inputs(str(SPYRE))):
        yield lambda theirs=theirs, ours=ours: compare_errors(op, theirs, ours)


def compare_errors(op: Any, theirs: Any, ours: Any) -> bool:
    """op_db knows that the CPU raises other types than devices do here and there, and lists
    some inputs that raise nowhere."""
    sample = theirs.sample_input
    try:
        op(sample.input, *sample.args, **sample.kwargs)
    except Exception:
        sample = ours.sample_input
        raises_same(
            lambda: op(sample.input, *sample.args, **sample.kwargs), ours.error_type
        )
        return True
    return False


CHECKS: dict[str, Callable[[Any, torch.dtype, int], Checks]] = {
    "forward": forward,
    "queued": queued,
    "other card": other_card,
    "captured": captured,
    "out": out,
    "inplace": inplace,
    "backward": backward,
    "sparse": sparse,
    "errors": errors,
}
MODES = tuple(CHECKS)
