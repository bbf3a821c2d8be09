"""Lines of C++ with their indentation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

WIDTH = 100


class CodeLines:
    """Collects lines; `block` indents what is added inside it. Long lines are folded."""

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth
        self.lines: list[str] = []

    def add(self, text: str) -> None:
        self.lines.extend(fold("  " * self._depth + text))

    def blank(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append("")

    @contextmanager
    def block(self, opening: str, closing: str) -> Iterator[None]:
        self.add(opening)
        self._depth += 1
        yield
        self._depth -= 1
        self.add(closing)

    def text(self) -> str:
        return "\n".join(self.lines)


def fold(line: str) -> list[str]:
    """Breaks a line over WIDTH at its last space, continuing four columns further in."""
    indent = len(line) - len(line.lstrip())
    lines = []
    continuation = " " * (indent + 4)
    if line.lstrip().startswith("//"):
        continuation = " " * indent + "//   "
    while len(line) > WIDTH:
        cut = line.rfind(" ", indent + 4, WIDTH + 1)
        if cut <= indent + 4:
            break
        lines.append(line[:cut])
        line = continuation + line[cut + 1 :]
        indent = len(continuation)
    return [*lines, line]
