"""The one door from the device to the compiler, opened when something is compiled.

Inductor asks the device module for its back-end classes by name. That question imports
spyre_inductor, which registers them itself: the attribute route cannot pass a custom pass, whose
hash must enter Inductor's cache keys.
"""

from __future__ import annotations

INDUCTOR_ATTRIBUTES = frozenset(
    {"Scheduling", "PythonWrapperCodegen", "CppWrapperCodegen", "WrapperFxCodegen"}
)


def register_compiler() -> None:
    """Registers Spyre with Dynamo and Inductor. Idempotent."""
    from spyre_inductor import registration

    registration.register()
