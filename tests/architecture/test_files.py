"""Size, names and text of the source files."""

from __future__ import annotations

import ast
import re

from tests.support.sources import (
    LIBRARY_SUFFIXES,
    REPOSITORY,
    all_files,
    calls_of,
    library_files,
    name_of,
    tree_of,
)

MAX_LINES = 400
VAGUE_WORDS = re.compile(r"(^|[/_])(utils?|helpers?|common|misc|manager)([./_]|$)")
# Assembled, so that this file does not name them.
MACHINE_PATHS = re.compile("/(" + "|".join(("work", "root", "opt", "home")) + r")/\w")
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
TEXT_FILES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "Makefile", ".ci/run")


def test_no_file_is_long() -> None:
    long = {
        name_of(path): lines
        for path in all_files()
        if (lines := path.read_text().count("\n")) > MAX_LINES
    }
    assert not long, f"over {MAX_LINES} lines, split by responsibility: {long}"


def test_median_file_is_short() -> None:
    lines = sorted(path.read_text().count("\n") for path in library_files())
    assert lines[len(lines) // 2] <= 150


def test_names_say_what_a_file_is_for() -> None:
    found = [name_of(path) for path in all_files() if VAGUE_WORDS.search(name_of(path))]
    assert not found, f"vague names: {found}"


def test_no_path_of_one_machine() -> None:
    files = [*all_files(), *(REPOSITORY / name for name in TEXT_FILES)]
    found = [
        f"{name_of(path)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if MACHINE_PATHS.search(line)
    ]
    assert not found, "\n".join(found)


def test_nothing_is_left_unfinished() -> None:
    found = [
        name_of(path) for path in all_files() if UNFINISHED.search(path.read_text())
    ]
    assert not found, f"finish it or file it: {found}"


def test_every_module_says_what_it_does() -> None:
    found = [
        name_of(path)
        for path in library_files(".py")
        if not ast.get_docstring(tree_of(path))
    ]
    assert not found, f"no docstring: {found}"


def test_library_does_not_print() -> None:
    found = [
        f"{name_of(path)}:{line}"
        for path in library_files(".py")
        if "spyre_inductor/cli/" not in name_of(path)
        for line in calls_of(path, "print")
    ]
    assert not found, f"use logging: {found}"


def test_the_patterns_find_what_they_should() -> None:
    assert VAGUE_WORDS.search("a/utils.py") and VAGUE_WORDS.search("a/string_helper.h")
    assert not VAGUE_WORDS.search("a/commonality.py")
    assert MACHINE_PATHS.search("/" + "root/x") and not MACHINE_PATHS.search("/usr/x")
    assert ".py" in LIBRARY_SUFFIXES
