"""Kernel source to verified binary: toolchain, cache key, kernel cache, compile.

Imports the standard library, filelock, errors and plan; never torch or config. Callers pass values.
"""
