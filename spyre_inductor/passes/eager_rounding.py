"""16-bit floats round between operators as in eager mode, on the card and nowhere else.

Inductor does this for every device at once, with its option `emulate_precision_casts`, which is off
unless asked for. For the card it is on: `config.eager_rounding`. Upstream reads its option at two
places that matter, without a hook per device; both are wrapped here and ask for the node's device.

A graph of CPU tensors that moves to the card (`config._cpu_resident`) is traced before it moves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._inductor import compile_fx
from torch._inductor.fx_passes import joint_graph
from torch._inductor.pattern_matcher import Match, PatternEntry
from torch.fx.experimental import proxy_tensor

from .. import config
from .eager_results import MARK, NARROW

OPTION = "emulate_precision_casts"


def patch_eager_rounding() -> Callable[[], None]:
    """Wraps the two readers, and the entry where a caller's option is known. Returns an undo."""
    undos = (_patch_tracing(), _patch_pairs(), _patch_entry())

    def undo() -> None:
        for each in undos:
            each()

    return undo


def rounds_on(device: torch.device | None) -> bool:
    """Whether 16-bit values of `device` round as in eager mode by `config.eager_rounding`."""
    if device is None or not config.eager_rounding:
        return False
    return device.type == "spyre" or (device.type == "cpu" and config._cpu_resident)


def _patch_tracing() -> Callable[[], None]:
    """The node that ends a traced operator, as eager mode would run it, is marked for
    `eager_results.py`; upstream's own mark would round inside of decompositions and lowerings."""
    original = proxy_tensor._maybe_record_pointwise_barrier

    @functools.wraps(original)
    def mark(func: object, proxy_mode: Any) -> None:
        original(func, proxy_mode)
        if proxy_mode.decomp_layers or not isinstance(func, torch._ops.OpOverload):
            return
        node = next(reversed(proxy_mode.tracer.graph.nodes))
        values = [n.meta.get("val") for n in (node, *node.all_input_nodes)]
        tensors = [v for v in values if isinstance(v, torch.Tensor)]
        if any(t.dtype in NARROW and rounds_on(t.device) for t in tensors):
            node.meta.pop("low_precision_pointwise_barrier", None)
            node.meta[MARK] = True

    return _replace(proxy_tensor, "_maybe_record_pointwise_barrier", mark)


def _patch_pairs() -> Callable[[], None]:
    """Two conversions in a row stay two when the first loses digits or range."""
    entry = pair_entry()
    original = entry.extra_check

    @functools.wraps(original)
    def may_join(match: Match) -> bool:
        value = match.kwargs["arg"].meta.get("val")
        if isinstance(value, torch.Tensor) and rounds_on(value.device):
            first = match.kwargs["dtype1"]
            if not joint_graph._is_lossless_fp_widening_cast(value.dtype, first):
                return False
        return original(match)

    return _replace(entry, "extra_check", may_join)


def pair_entry() -> PatternEntry:
    """Upstream's pattern that makes one conversion of two in a row."""
    (entry,) = (
        entry
        for entries in joint_graph.patterns.patterns.values()
        for entry in entries
        if getattr(entry, "handler", None) is joint_graph.pointless_convert
    )
    return entry


def _patch_entry() -> Callable[[], None]:
    """`torch.compile(options={"emulate_precision_casts": ...})` decides for the card too."""
    original = compile_fx.compile_fx

    @functools.wraps(original)
    def compile_graph(
        model_: Any,
        example_inputs_: Sequence[Any],
        inner_compile: Callable[..., Any] = compile_fx.compile_fx_inner,
        config_patches: Mapping[str, Any] | None = None,
        **others: Any,
    ) -> Any:
        patches = None if config_patches is None else dict(config_patches)
        if not patches or OPTION not in patches:
            return original(model_, example_inputs_, inner_compile, patches, **others)
        chosen = config.patch(eager_rounding=bool(patches[OPTION]))  # type: ignore[attr-defined]
        with chosen:  # and again around the backward graph, which may be compiled later
            return original(
                model_, example_inputs_, chosen(inner_compile), patches, **others
            )

    return _replace(compile_fx, "compile_fx", compile_graph)


def _replace(owner: Any, name: str, value: Any) -> Callable[[], None]:
    original = getattr(owner, name)
    setattr(owner, name, value)

    def undo() -> None:
        setattr(owner, name, original)

    return undo
