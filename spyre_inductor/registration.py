"""Where this backend enters torch: the Dynamo backend function, and the device's registration with
Inductor. The only file that changes anything inside torch.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_origin

import torch

from .cold_start import collector_paused, load_inductor

# Prefix of this compiler's own options in torch.compile(options=...).
PREFIX = "spyre."

_lock = threading.Lock()


def spyre_backend(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """`torch.compile(..., backend="spyre")`: Inductor, with CPU graphs moved to the card.

    Args:
        mode: A mode of Inductor ("reduce-overhead", "max-autotune", ...).
        options: Options of Inductor, or of this compiler as "spyre.<name>" (see config.py).

    Raises:
        RuntimeError: an unknown mode or option (lists the known ones) or a value of a wrong type.
    """
    load_inductor()
    register()
    from torch._inductor.compile_fx import compile_fx

    from . import config
    from .passes.cpu_graph import compile_inner

    inductor_options, own_options = resolve_options(mode, options)
    inner = functools.partial(compile_inner, own_options=own_options)
    # AOTAutogradCache must not serve what backend="inductor" made of the same CPU graph.
    on_spyre = any(isinstance(x, torch.Tensor) and x.is_spyre for x in example_inputs)
    with config.patch({**own_options, "_cpu_resident": not on_spyre}):
        return compile_fx(
            gm, example_inputs, inner_compile=inner, config_patches=inductor_options
        )


def resolve_options(
    mode: str | None, options: Mapping[str, Any] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Inductor's config patches and this compiler's own, from torch.compile's arguments.

    Raises:
        RuntimeError: the mode or an option is unknown, or an option's value has another type.
    """
    from torch._inductor import config as inductor_config
    from torch._inductor import list_mode_options

    from . import config

    inductor_patches: dict[str, Any] = {}
    if mode and mode != "default":
        inductor_patches.update(list_mode_options(mode))
    own_patches: dict[str, Any] = {}
    for key, value in (options or {}).items():
        name = key.replace("-", "_")
        if name.startswith(PREFIX):
            own_patches[_checked(config, name[len(PREFIX) :], key, value)] = value
        else:
            inductor_patches[_checked(inductor_config, name, key, value)] = value
    return inductor_patches, own_patches


def known_options() -> list[str]:
    """Every option name that `resolve_options` takes."""
    from torch._inductor import config as inductor_config

    from . import config

    own = (PREFIX + name for name in _public(config))
    return [*own, *inductor_config.get_config_copy()]  # type: ignore[attr-defined]


def _public(module: Any) -> dict[str, Any]:
    return {k: v for k, v in module.get_config_copy().items() if not k.startswith("_")}


def _checked(module: Any, name: str, key: str, value: Any) -> str:
    known = _public(module)
    if name not in known:
        raise RuntimeError(
            f"Unexpected optimization option {key}, known options are {known_options()}"
        )
    expected = module.get_type(name)
    if get_origin(expected) is None and not isinstance(value, expected):
        raise RuntimeError(
            f"Unexpected type of attr {key}, got {type(value).__name__} should be "
            f"{type(known[name]).__name__}"
        )
    return name


def register() -> None:
    """Registers the device with Dynamo and Inductor. Cheap after the first call; thread-safe."""
    with _lock, collector_paused():
        _register_with_inductor()


@functools.cache
def _register_with_inductor() -> None:
    from torch._dynamo.device_interface import register_interface_for_device
    from torch._inductor.codegen.common import (
        register_backend_for_device,
        register_device_op_overrides,
    )

    from . import config
    from .device_interface import SpyreInterface
    from .device_ops import SpyreDeviceOpOverrides
    from .logs import register as register_logs
    from .passes.eager_rounding import patch_eager_rounding
    from .passes.graph_pass import SpyreGraphPass
    from .passes.pattern_tables import patch_pattern_tables
    from .scheduling import SpyreScheduling
    from .wrapper import SpyreWrapperCodegen

    register_logs()
    register_backend_for_device(
        "spyre",
        SpyreScheduling,
        SpyreWrapperCodegen,
        device_custom_pass=SpyreGraphPass(),
        device_custom_config=config,  # type: ignore[arg-type]  # install_config_module made it one
    )
    register_device_op_overrides("spyre", SpyreDeviceOpOverrides())
    register_interface_for_device("spyre", SpyreInterface)
    for index in range(torch.spyre.device_count()):
        register_interface_for_device(f"spyre:{index}", SpyreInterface)
    patch_pointwise_device()
    patch_logical_arg_index()
    patch_reindexed_dependencies()
    patch_stream_lookup()
    patch_pattern_tables()
    patch_eager_rounding()


# --- changes to Inductor and Dynamo that have no hook upstream -----------------------------------
# Each wraps one name only. tests/e2e/test_compile_upstream_patches.py fails once upstream gives the
# right answer without it.


def patch_pointwise_device() -> Callable[[], None]:
    """make_pointwise takes the device of the first input unless is_gpu() finds another, so
    `cpu_scalar * spyre_tensor` gave a CPU tensor. Returns a function that undoes the patch."""
    from torch._inductor import lowering

    original = lowering.is_gpu

    def is_gpu(device: str | None) -> bool:
        return device == "spyre" or original(device)

    lowering.is_gpu = is_gpu

    def undo() -> None:
        lowering.is_gpu = original

    return undo


def patch_logical_arg_index() -> Callable[[], None]:
    """_make_reduction_inner gives argmax of a transposed tensor its logical index on Triton and
    C++ only, so `x.t().argmax()` gave a position in memory. Returns a function that undoes it."""
    from torch._inductor import lowering

    original, original_is_triton = lowering._make_reduction_inner, lowering.is_triton

    def is_triton(x: Any) -> bool:
        return _is_on_spyre(x) or original_is_triton(x)

    def make_reduction_inner(x: Any, **kwargs: Any) -> Any:
        if not _is_on_spyre(x):
            return original(x, **kwargs)
        # Compilation holds Dynamo's compile lock, so no other thread sees the changed name.
        lowering.is_triton = is_triton
        try:
            return original(x, **kwargs)
        finally:
            lowering.is_triton = original_is_triton

    lowering._make_reduction_inner = make_reduction_inner

    def undo() -> None:
        lowering._make_reduction_inner = original

    return undo


def patch_reindexed_dependencies() -> Callable[[], None]:
    """The scheduler gives a pointwise node the ranges of the reduction it follows (group norm), but
    leaves its dependencies in another form than those of nodes that are not on a GPU, so that the
    two never match and are not fused. Returns a function that undoes the patch."""
    from torch._inductor import scheduler

    original = scheduler.Scheduler._try_reindex_pointwise_for_reduction

    def try_reindex(self: Any, node1: Any, node2: Any) -> bool:
        reindexed = original(self, node1, node2)
        if reindexed and node1.get_device().type == "spyre":
            node = node2 if node1.is_reduction() else node1
            for part in node.get_nodes():
                part.refresh_dependencies(normalize=True, need_clear_tiling_cache=False)
            if isinstance(node, scheduler.FusedSchedulerNode):
                scheduler.refresh_group_node_dependencies(node)
        return reindexed

    scheduler.Scheduler._try_reindex_pointwise_for_reduction = try_reindex  # type: ignore[method-assign]

    def undo() -> None:
        scheduler.Scheduler._try_reindex_pointwise_for_reduction = original  # type: ignore[method-assign]

    return undo


def patch_stream_lookup() -> Callable[[], None]:
    """Code that Dynamo makes asks for the current stream in each call, through Python that checks
    the device once more: 1.5 us of a call's 20. Returns a function that undoes the patch."""
    from torch._dynamo import utils

    original = utils.get_current_stream
    stream_of, current_device = (
        torch._C._accelerator_getStream,
        torch._C._accelerator_getDeviceIndex,
    )

    def get_current_stream(device: torch.device) -> torch.Stream:
        if device.type != "spyre":
            return original(device)
        index = device.index
        return stream_of(current_device() if index is None else index)

    utils.get_current_stream = get_current_stream

    def undo() -> None:
        utils.get_current_stream = original

    return undo


def _is_on_spyre(x: Any) -> bool:
    device = x.get_device() if hasattr(x, "get_device") else None
    return device is not None and device.type == "spyre"
