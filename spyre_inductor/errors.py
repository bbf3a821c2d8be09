"""Every exception class of the compiler. Picklable: compile workers send them across processes.

A message says what failed, where (kernel, buffer, path), the value against its limit, and what to
do next.
"""

from __future__ import annotations


class SpyreError(RuntimeError):
    """Base of all errors of this project; the device side raises torch's own classes."""


class UnsupportedError(SpyreError):
    """A construct that this backend does not lower; names the operator and why."""

    def __init__(self, op: str, why: str) -> None:
        super().__init__(op, why)
        self.op, self.why = op, why

    def __str__(self) -> str:
        return f"spyre does not support {self.op}: {self.why}"


class PlanError(SpyreError):
    """A KernelPlan or LaunchPlan breaks one of its invariants."""


class TemplateError(SpyreError):
    """A kernel template is missing, or failed to render; names template and line."""


class CompileError(SpyreError):
    """The host compiler refused a kernel, or there is no compiler."""

    def __init__(
        self, message: str, command: str, source_path: str, output: str
    ) -> None:
        super().__init__(message, command, source_path, output)
        self.message, self.command = message, command
        self.source_path, self.output = source_path, output

    def __str__(self) -> str:
        return (
            f"{self.message}\n  source:  {self.source_path}\n  command: {self.command}\n"
            f"{self.output}"
        )


class CacheError(SpyreError):
    """The kernel cache directory cannot be used safely (foreign owner, not a directory)."""


class LoadError(SpyreError):
    """A built module could not be loaded, or speaks another kernel ABI version."""


class LaunchError(SpyreError):
    """Arguments of a launch do not fit the plan; names kernel, argument, expected and got."""
