"""Builds the one extension module, torch_spyre._C. Everything else is in pyproject.toml."""

from pathlib import Path

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

CSRC = Path("torch_spyre/csrc")

setup(
    ext_modules=[
        CppExtension(
            name="torch_spyre._C",
            sources=sorted(str(path) for path in CSRC.rglob("*.cpp")),
            include_dirs=[str(CSRC.resolve()), str(Path("torch_spyre/include").resolve())],
            extra_compile_args=["-std=c++20", "-O2", "-fopenmp", "-fvisibility=hidden", "-Wall"],
            extra_link_args=["-fopenmp"],
        )
    ],
    cmdclass={"build_ext": BuildExtension.with_options(no_python_abi_suffix=True)},
)
