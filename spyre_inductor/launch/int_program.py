"""Compiles a plan's index expressions to the postfix code of csrc/runtime/int_program.h."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import PlanError
from ..plan.expr import IntExpr

_CONSTANT, _SYMBOL = 0, 1
# Numbers as in IntProgram::Op.
OPCODES = {
    "add": 2,
    "mul": 3,
    "min": 4,
    "max": 5,
    "floordiv": 6,
    "mod": 7,
    "ceildiv": 8,
    "pow": 9,
    "lshift": 10,
    "rshift": 11,
    "eq": 12,
    "ne": 13,
    "lt": 14,
    "le": 15,
    "and": 16,
    "or": 17,
    "where": 18,
}


def compile_int_expr(expr: IntExpr, symbols: Sequence[str]) -> tuple[int, ...]:
    """Flat (opcode, operand) pairs; `symbols` gives each name's slot at run time.

    Raises PlanError when the expression uses a name that is not bound at launch.
    """
    code: list[int] = []
    slots = {name: slot for slot, name in enumerate(symbols)}

    def visit(node: IntExpr) -> None:
        if isinstance(node, int):
            code.extend((_CONSTANT, int(node)))
        elif isinstance(node, str):
            if node not in slots:
                raise PlanError(
                    f"size {node!r} is not bound at launch; known: {', '.join(symbols)}"
                )
            code.extend((_SYMBOL, slots[node]))
        else:
            for arg in node.args:
                visit(arg)
            code.extend((OPCODES[node.op], len(node.args)))

    visit(expr)
    return tuple(code)
