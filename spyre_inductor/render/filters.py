"""Text filters of the kernel templates."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .code_lines import fold


def comment(lines: Iterable[str]) -> str:
    """Each line behind `// `, folded to the line width."""
    folded = [part for line in lines for part in fold(f"// {line}".rstrip())]
    return "\n".join(folded)


def indented(lines: Iterable[str], columns: int = 2) -> str:
    """Each non-empty line moved right by `columns`."""
    return "\n".join(" " * columns + line if line else "" for line in lines)


FILTERS: dict[str, Callable[..., str]] = {"comment": comment, "indented": indented}
