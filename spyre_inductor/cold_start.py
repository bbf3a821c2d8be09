"""What makes the first compile of a process short.

Importing Inductor is most of that time. Two things in it are work for nothing: full passes of the
garbage collector over half a million objects that all stay, and parsing the templates of Triton
kernels, which no graph on spyre uses. A third, the hash of torch's sources, needs no import and so
is computed beside it.
"""

from __future__ import annotations

import functools
import gc
import marshal
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

# Upstream's own function, in an interpreter that imports nothing else. Standard input: its code,
# then its arguments and the files that follow. Standard output: the digest.
_HASH_PROGRAM = """
import hashlib, marshal, pkgutil, sys, types
code, version, root, files = marshal.load(sys.stdin.buffer)
scope = {"pkgutil": pkgutil, "__builtins__": __builtins__}
scope["build_code_hash"] = hash_below = types.FunctionType(code, scope)
digest = hashlib.sha256(version)
hash_below([root], "", digest)
for name in files:
    with open(name, "rb") as file:
        digest.update(file.read())
sys.stdout.buffer.write(digest.digest())
"""
_HASH_TIMEOUT_SECONDS = 30
_DIGEST_BYTES = 32


@functools.cache
def load_inductor() -> None:
    """Imports Inductor, with the hash of torch's sources that its graph caches need."""
    with collector_paused(), templates_parsed_on_use():
        from torch._inductor import codecache, config

        wanted = config.fx_graph_cache and not config.force_disable_caches
        hashing = start_source_hash() if wanted else None
        import torch._inductor.compile_fx  # noqa: F401

        digest = None if hashing is None else finish_source_hash(hashing)
        if digest is not None:
            with suppress(RuntimeError):  # somebody has asked for it meanwhile
                codecache.torch_key.set(digest)  # type: ignore[attr-defined]


@contextmanager
def collector_paused() -> Iterator[None]:
    """No cyclic garbage collection inside; as it was afterwards.

    What was made inside becomes old at once, as if it had lived through the young collections that
    did not take place: the next ones would look at all of it, in the middle of other compiles.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if gc.get_freeze_count() == 0:  # else they are the user's, to stay frozen
                gc.freeze()
                gc.unfreeze()  # into the oldest generation, without a pass over them
            gc.enable()


@contextmanager
def templates_parsed_on_use() -> Iterator[None]:
    """Kernel templates that Inductor's modules define inside are parsed when first rendered.

    Upstream has no hook for it (`KernelTemplate._template_from_string` parses at once), so its
    source of the Jinja environment is replaced meanwhile. Without effect once they are imported.
    """
    if "torch._inductor.select_algorithm" in sys.modules:
        yield
        return
    from torch._inductor.codegen import common

    original = common.jinja2_env

    def jinja2_env() -> Any:
        environment = original()
        return None if environment is None else _DeferringEnvironment(environment)

    common.jinja2_env = jinja2_env  # type: ignore[assignment]
    try:
        yield
    finally:
        common.jinja2_env = original


class _DeferringEnvironment:
    """A Jinja environment whose `from_string` does not parse yet."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environment, name)

    def from_string(self, source: str) -> DeferredTemplate:
        return DeferredTemplate(self._environment, source)


class DeferredTemplate:
    """A Jinja template that is parsed when something is asked of it."""

    def __init__(self, environment: Any, source: str) -> None:
        self._parse = functools.cache(lambda: environment.from_string(source))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copy and pickle ask before there is a `_parse`
            raise AttributeError(name)
        return getattr(self._parse(), name)


def start_source_hash() -> subprocess.Popen[bytes] | None:
    """Starts what computes codecache.torch_key(); None when no interpreter can be started."""
    import torch
    from torch._inductor import codecache

    below = os.path.dirname(codecache.__file__)
    extra = (
        os.path.join(below, name)
        for name in ("codegen/aoti_runtime/interface.cpp", "script.ld")
    )
    arguments = (
        codecache.build_code_hash.__code__,
        torch.__version__.encode(),
        codecache._TORCH_PATH,
        tuple(path for path in extra if os.path.exists(path)),
    )
    if not sys.executable:  # torch in a program that is no interpreter
        return None
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _HASH_PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # it ended already: finish_source_hash sees that
        process.stdin.write(marshal.dumps(arguments))
        process.stdin.close()
    process.stdin = None
    return process


def finish_source_hash(process: subprocess.Popen[bytes]) -> bytes | None:
    """The digest; None when the process failed, so that torch_key() computes it itself."""
    try:
        digest, _ = process.communicate(timeout=_HASH_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    complete = process.returncode == 0 and len(digest) == _DIGEST_BYTES
    return digest if complete else None
