"""Adds this compiler's stages to the folder that TORCH_COMPILE_DEBUG=1 gives each graph.

Inductor writes the FX graph before and after passes, its IR before and after fusion, and the
wrapper (output_code.py). Beside them: spyre_plan.json, spyre_kernel.cpp, spyre_launch_plan.json,
spyre_fusion.txt (refused fusions and why), spyre_build.json or the compiler's complaint, repro.py.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

from torch._inductor import config as inductor_config
from torch._inductor.scheduler import fusion_log
from torch._inductor.virtualized import V

from .repro import repro_source

# In a node's text: the user's lines, which the kernels name too, in ten lines' length per node.
_STACK = re.compile(r""", \\?'stack_traces = \{\\?'.*?, \\?'\}\\?'""")


def folder() -> Path | None:
    """Folder of the graph being compiled; None when debugging is off."""
    path = getattr(V.debug, "_path", None) if inductor_config.trace.enabled else None
    return None if path is None else Path(path)


def write_stage(name: str, text: str) -> None:
    """Writes one stage's product as `name` into the graph's folder, if there is one."""
    write_into(folder(), name, text)


def write_into(directory: Path | None, name: str, text: str) -> None:
    """The same for a graph whose compilation may have ended; Inductor may have moved its folder."""
    if directory is not None and directory.is_dir():
        (directory / name).write_text(text)


def write_repro(graph: Any) -> None:
    """Writes repro.py for a GraphLowering."""
    if folder() is not None:
        write_stage("repro.py", repro_source(graph))


class FusionRecord(logging.Handler):
    """Between `start` and `write`, keeps what Inductor's scheduler says about fusion."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self._lines: list[str] = []
        self._old_level = logging.NOTSET

    @classmethod
    def start(cls) -> FusionRecord | None:
        """None when debugging is off."""
        if folder() is None:
            return None
        record = cls()
        record._old_level = fusion_log.level
        fusion_log.setLevel(logging.DEBUG)
        fusion_log.addHandler(record)
        return record

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(_STACK.sub("", record.getMessage()))

    def write(self) -> None:
        """Stops and writes spyre_fusion.txt; each refusal once."""
        fusion_log.removeHandler(self)
        fusion_log.setLevel(self._old_level)
        write_stage("spyre_fusion.txt", "\n".join(dict.fromkeys(self._lines)) + "\n")
