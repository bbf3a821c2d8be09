"""The doors from the device to the compiler, opened when something is compiled.

Inductor asks the device module for its back-end classes by name. That question imports
spyre_inductor, which registers them itself: the attribute route cannot pass a custom pass, whose
hash must enter Inductor's cache keys. Inductor asks late, when a graph has been traced already, so
its entry function opens the door as well. Dynamo asks nobody: its table of device interfaces has no
hook, so ours enters it as soon as that module has been imported.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

INDUCTOR_ATTRIBUTES = frozenset(
    {"Scheduling", "PythonWrapperCodegen", "CppWrapperCodegen", "WrapperFxCodegen"}
)


def register_compiler() -> None:
    """Registers Spyre with Dynamo and Inductor. Idempotent."""
    from spyre_inductor import registration

    registration.register()


def _register_interface(_module: ModuleType) -> None:
    import torch
    from torch._dynamo.device_interface import register_interface_for_device

    from spyre_inductor.device_interface import SpyreInterface

    register_interface_for_device("spyre", SpyreInterface)
    for index in range(torch.spyre.device_count()):
        register_interface_for_device(f"spyre:{index}", SpyreInterface)


def _register_at_first_graph(module: ModuleType) -> None:
    """Wraps compile_fx, which everybody looks up in `module` when there is a graph."""
    original = module.compile_fx
    seen = False

    @functools.wraps(original)
    def compile_fx(*args: Any, **kwargs: Any) -> Any:
        nonlocal seen
        if seen:
            return original(*args, **kwargs)
        register_compiler()
        seen = True
        return module.compile_fx(*args, **kwargs)  # registration has wrapped it again

    module.compile_fx = compile_fx  # type: ignore[attr-defined]


_AFTER_IMPORT: dict[str, Callable[[ModuleType], None]] = {
    "torch._dynamo.device_interface": _register_interface,
    "torch._inductor.compile_fx": _register_at_first_graph,
}


class _ImportWatch(MetaPathFinder):
    """Finds the modules of `_AFTER_IMPORT` as usual, and calls their function after the import."""

    def __init__(self) -> None:
        self._waiting = dict(_AFTER_IMPORT)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        after = self._waiting.pop(fullname, None)
        if after is None:
            return None
        if not self._waiting:
            sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_call(module: ModuleType) -> None:
            execute(module)
            after(module)

        spec.loader.exec_module = execute_and_call  # type: ignore[method-assign]
        return spec


def watch_imports() -> None:
    """Calls the functions of `_AFTER_IMPORT` now for modules that are there, else after import."""
    watch = _ImportWatch()
    for name, after in _AFTER_IMPORT.items():
        if name in sys.modules:
            del watch._waiting[name]
            after(sys.modules[name])
    if watch._waiting:
        sys.meta_path.insert(0, watch)
