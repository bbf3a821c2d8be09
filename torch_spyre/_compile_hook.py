"""The doors from the device to the compiler, opened when something is compiled.

Inductor asks the device module for its back-end classes by name. That question imports
spyre_inductor, which registers them itself: the attribute route cannot pass a custom pass, whose
hash must enter Inductor's cache keys. Dynamo asks nobody: its table of device interfaces has no
hook, so ours enters it as soon as that module has been imported.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

INDUCTOR_ATTRIBUTES = frozenset(
    {"Scheduling", "PythonWrapperCodegen", "CppWrapperCodegen", "WrapperFxCodegen"}
)
_INTERFACE_MODULE = "torch._dynamo.device_interface"


def register_compiler() -> None:
    """Registers Spyre with Dynamo and Inductor. Idempotent."""
    from spyre_inductor import registration

    registration.register()


def _register_interface() -> None:
    import torch
    from torch._dynamo.device_interface import register_interface_for_device

    from spyre_inductor.device_interface import SpyreInterface

    register_interface_for_device("spyre", SpyreInterface)
    for index in range(torch.spyre.device_count()):
        register_interface_for_device(f"spyre:{index}", SpyreInterface)


class _InterfaceFinder(MetaPathFinder):
    """Finds Dynamo's table of device interfaces as usual, and fills it in after its import."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname != _INTERFACE_MODULE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_register(module: ModuleType) -> None:
            execute(module)
            _register_interface()

        spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def watch_dynamo() -> None:
    """Registers the device interface now when Dynamo is there, else when it is imported."""
    if _INTERFACE_MODULE in sys.modules:
        _register_interface()
    else:
        sys.meta_path.insert(0, _InterfaceFinder())
