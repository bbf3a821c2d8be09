"""Log names for TORCH_LOGS: the alias "spyre" and the artifacts below.

`import torch` rejects an unknown name in TORCH_LOGS, so `register` runs as a `torch.backends` entry
point, before torch parses that variable. It imports nothing beyond torch._logging.

Note [Artifact loggers without torch] plan, render and build must not import torch, yet log to an
artifact. They use `logging.getLogger(artifact_name(package, artifact))`, the name torch itself
would choose; `register` tells torch about the names listed in TORCH_FREE_LOGGERS.
"""

from __future__ import annotations

import logging

ARTIFACTS = {
    "spyre_plan": "Each kernel plan and launch plan as it is built.",
    "spyre_cache": "Kernel cache hits, misses, builds and evictions, with keys and times.",
    "spyre_launch": "Each launch of a compiled graph, with its steps and arguments.",
    "spyre_fallback": "Operators that run eagerly in a compiled graph, refused fusions, and why.",
}

# (package, artifact) pairs that are logged to by modules that do not import torch.
TORCH_FREE_LOGGERS = (("spyre_inductor.build", "spyre_cache"),)


def artifact_name(package: str, artifact: str) -> str:
    """Name of the logger through which `package` writes to `artifact`."""
    return f"{package}.__{artifact}"


def register() -> None:
    """Makes the log names known to torch. Safe to call more than once."""
    from torch._logging import _internal

    registry = _internal.log_registry
    if "spyre" in registry.log_alias_to_log_qnames:
        return
    _internal.register_log("spyre", ["torch_spyre", "spyre_inductor"])
    for name, description in ARTIFACTS.items():
        _internal.register_artifact(
            name, description, visible=True, off_by_default=True
        )
    for package, artifact in TORCH_FREE_LOGGERS:
        _internal.getArtifactLogger(package, artifact)


def artifact_logger(module: str, artifact: str) -> logging.Logger:
    """Logger of `module` for one of ARTIFACTS, shown by TORCH_LOGS=<artifact>."""
    from torch._logging._internal import getArtifactLogger

    register()
    return getArtifactLogger(module, artifact)
