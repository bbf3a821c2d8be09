"""The template contract (codegen_templates/README.md): thin Jinja, algorithms in headers."""

from __future__ import annotations

import re

from tests.support.sources import REPOSITORY, library_files, name_of

MAX_TEMPLATE_LINES = 120
TEMPLATES = REPOSITORY / "codegen_templates"
EXPRESSION = re.compile(r"{{(.*?)}}|{%(.*?)%}", re.DOTALL)
STRING = re.compile(r"\"[^\"]*\"|'[^']*'")


def test_templates_start_with_a_comment_and_stay_short() -> None:
    for path in library_files(".jinja"):
        text = path.read_text()
        assert text.startswith("{#"), (
            f"{name_of(path)}: say its inputs in a first comment"
        )
        assert text.count("\n") <= MAX_TEMPLATE_LINES, (
            f"{name_of(path)}: move code to a header"
        )


def test_templates_do_no_arithmetic() -> None:
    for path in library_files(".jinja"):
        for match in EXPRESSION.finditer(path.read_text()):
            code = STRING.sub("", match.group(1) or match.group(2)).strip("-+ \n")
            found = re.search(r"[*/%]|(?<=\w) [-+] (?=\w)", code)
            assert not found, f"{name_of(path)}: arithmetic in {match.group()!r}"


def test_entry_points_are_written_by_one_macro() -> None:
    writers = [
        name_of(path)
        for path in library_files(".jinja")
        if 'extern "C"' in path.read_text()
    ]
    assert len(writers) <= 1, f"one macro writes every entry point, not {writers}"
