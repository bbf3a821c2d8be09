"""Reads the project's own sources for the architecture tests. Standard library only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = ("torch_spyre", "spyre_inductor", "codegen_templates")
LIBRARY_SUFFIXES = (".py", ".pyi", ".h", ".cpp", ".jinja")
OTHER_FOLDERS = ("tests", "examples", "benchmarks")

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


@dataclass(frozen=True)
class Import:
    """One imported module; `inner` when it stands inside a function."""

    module: str
    line: int
    inner: bool


def library_files(*suffixes: str) -> list[Path]:
    """Files of the three packages, generated and built ones left out."""
    return _files(PACKAGES, suffixes or LIBRARY_SUFFIXES)


def all_files(*suffixes: str) -> list[Path]:
    """The same, with tests, examples, benchmarks and setup.py."""
    wanted = suffixes or LIBRARY_SUFFIXES
    return [*_files((*PACKAGES, *OTHER_FOLDERS), wanted), REPOSITORY / "setup.py"]


def name_of(path: Path) -> str:
    """Path from the repository's root, as a reader writes it."""
    return path.relative_to(REPOSITORY).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def imports_of(path: Path) -> list[Import]:
    """Every module that the Python file imports, by absolute name."""
    package = name_of(path.parent).replace("/", ".")
    return list(_imports(tree_of(path), package, inner=False))


def includes_of(path: Path) -> list[tuple[str, str]]:
    """("<", header) or ('"', header) of each #include."""
    return _INCLUDE.findall(path.read_text())


def calls_of(path: Path, name: str) -> list[int]:
    """Lines that call the plain function `name`."""
    return [
        node.lineno
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == name
    ]


def _files(folders: tuple[str, ...], suffixes: tuple[str, ...]) -> list[Path]:
    return sorted(
        path
        for folder in folders
        for path in (REPOSITORY / folder).rglob("*")
        if path.suffix in suffixes and "__pycache__" not in path.parts
    )


def _imports(node: ast.AST, package: str, inner: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and _is_type_checking(child.test):
            continue
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, child.lineno, inner)
        elif isinstance(child, ast.ImportFrom):
            for module in _from_modules(child, package):
                yield Import(module, child.lineno, inner)
        else:
            is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from _imports(child, package, inner or is_function)


def _from_modules(node: ast.ImportFrom, package: str) -> list[str]:
    base = node.module or ""
    if node.level:
        parts = package.split(".")
        base = ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [base])])
    # `from torch import _inductor` names a module as much as `import torch._inductor`.
    return [f"{base}.{alias.name}" for alias in node.names]


def _is_type_checking(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in ast.dump(test)
