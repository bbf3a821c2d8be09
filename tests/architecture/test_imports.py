"""Who may import whom (ARCHITECTURE.md, "Dependency rules"). Reads sources, imports nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.sources import (
    PACKAGES,
    REPOSITORY,
    Import,
    imports_of,
    library_files,
    name_of,
)

COMPILER = "spyre_inductor"
# Folder or module of the compiler -> what it may import beside the standard library and itself.
ALLOWED = {
    "errors": (),
    "plan": ("errors",),
    "cost": ("errors", "plan"),
    "render": ("errors", "plan", "codegen_templates", "jinja2"),
    "build": ("errors", "plan", "logs", "filelock"),
    "cli": ("errors", "plan", "build", "cost"),
}
INDUCTOR_USERS = (
    "registration cold_start passes lowering scheduling kernel wrapper launch debug device_ops"
).split()
DYNAMO_USERS = ("registration", "device_interface", "passes", "debug")


def part_of(path: Path) -> str:
    """Folder below the package, or the module's own name: spyre_inductor/plan/x.py -> plan."""
    below = path.relative_to(REPOSITORY).parts[1:]
    return below[0] if len(below) > 1 else path.stem


def starts_with(module: str, *names: str) -> bool:
    return any(module == name or module.startswith(name + ".") for name in names)


def forbidden(path: Path, imported: Import) -> str | None:
    """Why `path` may not import that, or None."""
    module, package = imported.module, name_of(path).split("/")[0]
    if package == "codegen_templates":
        return "codegen_templates imports nothing"
    if package == "torch_spyre":
        return _forbidden_in_device(path, imported)
    part = part_of(path)
    if part in ALLOWED and not _is_allowed(module, part):
        return f"{part} may import only the standard library and {ALLOWED[part]}"
    if starts_with(module, "torch._inductor") and part not in INDUCTOR_USERS:
        return f"torch._inductor is for {INDUCTOR_USERS}"
    if starts_with(module, "torch._dynamo") and part not in DYNAMO_USERS:
        return f"torch._dynamo is for {DYNAMO_USERS}"
    return None


def _forbidden_in_device(path: Path, imported: Import) -> str | None:
    door = path.name == "_compile_hook.py" and imported.inner
    if starts_with(imported.module, COMPILER, "jinja2", "sympy") and not door:
        return "the device does not know the compiler; the one door is _compile_hook.py"
    lazy = starts_with(imported.module, "torch._dynamo", "torch._inductor")
    if lazy and not imported.inner:
        return "this would make every `import torch` load Dynamo or Inductor"
    return None


def _is_allowed(module: str, part: str) -> bool:
    top = module.split(".")[0]
    if top in sys.stdlib_module_names or top == "__future__":
        return True
    if top != COMPILER:
        return starts_with(module, *ALLOWED[part])
    return starts_with(
        module, *(f"{COMPILER}.{name}" for name in (part, *ALLOWED[part]))
    )


def test_imports_follow_the_rules() -> None:
    found = [
        f"{name_of(path)}:{imported.line} imports {imported.module}: {why}"
        for path in library_files(".py")
        for imported in imports_of(path)
        if (why := forbidden(path, imported))
    ]
    assert not found, "\n".join(found)


def test_every_package_was_looked_at() -> None:
    seen = {name_of(path).split("/")[0] for path in library_files(".py")}
    assert seen == set(PACKAGES)


@pytest.mark.parametrize(
    ("file", "module", "inner"),
    [
        ("spyre_inductor/plan/x.py", "torch", True),
        ("spyre_inductor/plan/x.py", "jinja2", False),
        ("spyre_inductor/render/x.py", "spyre_inductor.config", False),
        ("spyre_inductor/build/x.py", "torch", True),
        ("spyre_inductor/cli/x.py", "spyre_inductor.config", True),
        ("spyre_inductor/errors.py", "torch", False),
        ("spyre_inductor/config.py", "torch._inductor.config", False),
        ("spyre_inductor/kernel/x.py", "torch._dynamo", False),
        ("torch_spyre/x.py", "spyre_inductor.config", True),
        ("torch_spyre/_compile_hook.py", "spyre_inductor", False),
        ("torch_spyre/x.py", "torch._dynamo", False),
        ("codegen_templates/__init__.py", "os", False),
    ],
)
def test_rules_catch(file: str, module: str, inner: bool) -> None:
    assert forbidden(REPOSITORY / file, Import(module, 1, inner))


@pytest.mark.parametrize(
    ("file", "module", "inner"),
    [
        ("spyre_inductor/render/x.py", "jinja2", False),
        ("spyre_inductor/render/x.py", "spyre_inductor.plan.expr", False),
        ("spyre_inductor/build/x.py", "filelock", False),
        ("spyre_inductor/scheduling.py", "torch._inductor.ir", False),
        ("torch_spyre/_compile_hook.py", "spyre_inductor.registration", True),
        ("torch_spyre/x.py", "torch._dynamo", True),
    ],
)
def test_rules_allow(file: str, module: str, inner: bool) -> None:
    assert forbidden(REPOSITORY / file, Import(module, 1, inner)) is None


def test_relative_imports_are_resolved(tmp_path: Path) -> None:
    source = REPOSITORY / "spyre_inductor" / "build" / "compile.py"
    modules = {imported.module for imported in imports_of(source)}
    assert "spyre_inductor.build.entry.CacheEntry" in modules
