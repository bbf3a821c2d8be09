"""Every knob of the compiler, and the only place that reads its environment variables.

Passed to Inductor as the device's custom config, so that each entry enters the FX-graph cache key.
Format of a comment: what it does; environment variable; changes generated code: yes or no.
"""

import os
import pathlib
import sys

from torch.utils._config_module import install_config_module

from .build.cache_location import cache_directory


def _int_from_env(name: str, default: int) -> int:
    text = os.environ.get(name)
    if text is None:
        return default
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name} must be an integer, got {text!r}") from None


# Vector instruction set of rendered kernels: "native", "avx512", "avx2" or "scalar".
# SPYRE_CODEGEN_ISA; changes generated code: yes (through compiler flags)
isa: str = os.environ.get("SPYRE_CODEGEN_ISA", "native")

# "fast": a*b+c in one rounding; "off": two roundings, bit for bit as Inductor's own C++.
# SPYRE_CODEGEN_FP_CONTRACT; changes generated code: yes (through compiler flags)
fp_contract: str = os.environ.get("SPYRE_CODEGEN_FP_CONTRACT", "off")

# 16-bit floats round between operators as in eager mode. An option emulate_precision_casts of the
# compile wins, and Inductor's own variable set to 0 turns it off too.
# SPYRE_CODEGEN_EAGER_ROUNDING; changes generated code: yes
eager_rounding: bool = (
    os.environ.get(
        "SPYRE_CODEGEN_EAGER_ROUNDING",
        os.environ.get("TORCHINDUCTOR_EMULATE_PRECISION_CASTS", "1"),
    )
    != "0"
)

# Virtual cores a kernel may be divided over, 1 to 32.
# SPYRE_CODEGEN_CORES; changes generated code: yes
cores: int = _int_from_env("SPYRE_CODEGEN_CORES", 32)

# Host compiler. SPYRE_BUILD_CXX, then CXX; changes generated code: yes
cxx: str = os.environ.get("SPYRE_BUILD_CXX", os.environ.get("CXX", "g++"))

# Kernel cache directory (see kernel_cache_directory); empty: "spyre" in Inductor's cache directory.
# SPYRE_CACHE_DIR; changes generated code: no
cache_dir: str = os.environ.get("SPYRE_CACHE_DIR", "")

# Kernel cache size limit in bytes; least recently used entries go first.
# SPYRE_CACHE_MAX_BYTES; changes generated code: no
cache_max_bytes: int = _int_from_env("SPYRE_CACHE_MAX_BYTES", 4 << 30)

# Replay a compiled graph from its launch plan, with one enqueue per call; off: line by line in
# Python. SPYRE_LAUNCH_PLAN; changes generated code: no
launch_plan: bool = os.environ.get("SPYRE_LAUNCH_PLAN", "1") != "0"

# True while a graph of CPU tensors is compiled for the card (set by the backend, not by users).
# No environment variable; changes generated code: yes
_cpu_resident: bool = False


def kernel_cache_directory() -> pathlib.Path:
    """Where kernels are kept, asked at each use: torch's fresh_cache moves it."""
    return cache_directory(os.environ, sys.modules[__name__].cache_dir)


install_config_module(sys.modules[__name__])
