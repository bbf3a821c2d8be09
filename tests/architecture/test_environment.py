"""Environment variables: read in two places, documented in one table."""

from __future__ import annotations

import re

import pytest

from tests.support.sources import REPOSITORY, library_files, name_of

# The command line reads the environment at its entry and passes it on, so that it needs no torch.
PYTHON_READERS = ("spyre_inductor/config.py", "spyre_inductor/cli/__main__.py")
CPP_READERS = ("torch_spyre/csrc/device/options.cpp",)

PYTHON_READ = re.compile(r"\bos\.(environ|getenv|putenv)\b")
CPP_READ = re.compile(r"\b(secure_)?getenv\s*\(")
VARIABLE = re.compile(r"\"(SPYRE_[A-Z0-9_]+)\"")
ROW = re.compile(r"^\| `(SPYRE_[A-Z0-9_]+)` \|(.*)\|$", re.MULTILINE)


def rows() -> dict[str, list[str]]:
    """Variable -> the other cells of its row in the README: default, meaning, changes code."""
    text = (REPOSITORY / "README.md").read_text()
    return {
        name: [c.strip() for c in cells.split("|")] for name, cells in ROW.findall(text)
    }


@pytest.mark.parametrize(
    ("pattern", "suffixes", "readers"),
    [
        (PYTHON_READ, (".py",), PYTHON_READERS),
        (CPP_READ, (".cpp", ".h", ".jinja"), CPP_READERS),
    ],
)
def test_environment_is_read_in_one_place(pattern, suffixes, readers) -> None:
    found = {
        name_of(path)
        for path in library_files(*suffixes)
        if pattern.search(path.read_text())
    }
    assert found <= set(readers), "take the value as an argument"


def test_readme_lists_exactly_the_variables_that_exist() -> None:
    read = set()
    for name in (*PYTHON_READERS, *CPP_READERS):
        read |= set(VARIABLE.findall((REPOSITORY / name).read_text()))
    assert set(rows()) == read


def test_readme_says_which_knobs_change_code() -> None:
    config = (REPOSITORY / "spyre_inductor" / "config.py").read_text()
    for name, cells in rows().items():
        said = re.search(
            rf"{name}.*?; changes generated code: (yes|no)", config, re.DOTALL
        )
        expected = said.group(1) if said else "no"
        assert cells[-1] == expected, (
            f"README, {name}: changes code should be {expected}"
        )


def test_readme_gives_the_defaults_of_config() -> None:
    config = (REPOSITORY / "spyre_inductor" / "config.py").read_text()
    literal = re.compile(r'\("(SPYRE_[A-Z_]+)", (?:"(\w+)"|(\d+))\)')
    defaults = {name: text or number for name, text, number in literal.findall(config)}
    assert len(defaults) >= 4
    for name, default in defaults.items():
        assert rows()[name][0].strip("`") == default, f"README, {name}: wrong default"
