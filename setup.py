"""Builds the one extension module, torch_spyre._C. The rest is in pyproject.toml."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from setuptools import setup

# A broken build of this very package must not keep torch from loading for the next one.
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
from torch.utils.cpp_extension import BuildExtension, CppExtension, include_paths

CSRC = Path("torch_spyre/csrc")
INCLUDE = Path("torch_spyre/include")
# The profiler's headers include each other by bare name.
KINETO = Path(include_paths()[0]) / "kineto"


def require_compiler() -> None:
    """Stops with one sentence where torch would stop with a page."""
    compiler = shlex.split(os.environ.get("CXX", "")) or ["g++"]
    if shutil.which(compiler[0]) is None:
        sys.exit(
            f"error: no C++ compiler {compiler[0]!r}; "
            "install g++ 11 or newer, or name one in CXX"
        )


class BuildDevice(BuildExtension.with_options(no_python_abi_suffix=True)):
    """torch's extension build, after the check for a compiler."""

    def run(self) -> None:
        require_compiler()
        super().run()


setup(
    ext_modules=[
        CppExtension(
            name="torch_spyre._C",
            sources=sorted(str(path) for path in CSRC.rglob("*.cpp")),
            include_dirs=[str(CSRC.resolve()), str(INCLUDE.resolve()), str(KINETO)],
            extra_compile_args=[
                "-std=c++20",
                "-O2",
                # Python may have been built with -g, which doubles the time of every file.
                "-g0",
                "-fopenmp",
                "-fvisibility=hidden",
                "-Wall",
                "-DAT_PER_OPERATOR_HEADERS",
            ],
            extra_link_args=["-fopenmp"],
        )
    ],
    cmdclass={"build_ext": BuildDevice},
)
