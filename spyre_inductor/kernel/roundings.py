"""Roundings to 16-bit floats that change nothing are dropped.

Between 16-bit operators eager mode rounds. A rounding is useless when the value is representable
already, and when all that uses it rounds again to the same effect: a store into that type, or
operators that only choose or change signs on the way to one. The maximum of rounded values is the
rounded maximum, so that a reduction rounds once. Results are bit for bit those with all roundings.
"""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Mapping, Sequence

from spyre_inductor.plan.kernel_plan import (
    Cast,
    Compute,
    Constant,
    Load,
    LoopStage,
    Operation,
    PointStage,
    Reduce,
    Stage,
    Store,
)
from spyre_inductor.plan.operations import map_operands, operands, results

from .dead_code import remove_dead_code

_TARGETS = frozenset(("bfloat16", "float16"))
# Memory type -> 16-bit floats that hold all of its values.
_HELD_BY: dict[str, frozenset[str]] = {
    "bfloat16": frozenset(("bfloat16",)),
    "float16": frozenset(("float16",)),
    "float8_e4m3fn": _TARGETS,
    "float8_e5m2": _TARGETS,
    "float8_e8m0fnu": frozenset(("bfloat16",)),
    "uint8": _TARGETS,
    "int8": _TARGETS,
    "bool": _TARGETS,
}
# Operators whose result is one of the operands, its sign, its magnitude or a whole number near it.
_CHOOSING = frozenset(
    "neg abs relu maximum minimum sign floor ceil trunc round".split()
)
# Of those, what commutes with rounding to nearest even, signs of zeros included.
_SYMMETRIC = frozenset(("neg", "abs"))
# A float16 times 1, 2, 4 ... 2^15 only ever rounds to infinity. So does float32 when the product is
# taken this many times larger, and made as many times smaller again.
_TO_OVERFLOW = 2.0**112


def drop_useless_roundings(
    stages: Sequence[Stage], memory: Mapping[str, str], staged: Sequence[str]
) -> list[Stage]:
    """The stages with fewer casts that round; names in `staged` keep their meaning.

    Args:
        memory: buffer argument -> its dtype.
        staged: values kept in LX, which are used in other loops than their own.
    """
    ops = [op for stage in stages for op in stage.ops]
    if not any(isinstance(op, Cast) and op.rounds_to in _TARGETS for op in ops):
        return list(stages)
    exact = _Exactness(memory, staged)
    first = [exact.rewritten(stage) for stage in stages]
    left = _Sinking(first, memory, exact.held, staged).stages()
    return remove_dead_code([exact.with_products(stage) for stage in left])


class _Exactness:
    """For each float32 value, the 16-bit floats that hold it; drops casts to those."""

    def __init__(self, memory: Mapping[str, str], staged: Sequence[str]) -> None:
        self._memory, self._staged = memory, staged
        self.held: dict[str, frozenset[str]] = {}
        self._constants: dict[str, float] = {}
        self._products: dict[str, Compute] = {}
        self._integers: dict[str, str] = {}  # values that hold a small memory type
        self._same: dict[str, str] = {}

    def rewritten(self, stage: Stage) -> Stage:
        kept: list[Operation] = []
        for written in stage.ops:
            op = map_operands(written, lambda name: self._same.get(name, name))
            if isinstance(op, Cast) and self._is_useless(op):
                self._same[op.result] = op.value
                continue
            self._note(op)
            kept.append(op)
        return dataclasses.replace(stage, ops=tuple(kept))

    def _is_useless(self, op: Cast) -> bool:
        return (
            op.rounds_to in self.held.get(op.value, frozenset())
            and op.dtype == "float32"
            and not op.bitcast
            and op.result not in self._staged
        )

    def with_products(self, stage: Stage) -> Stage:
        """Two products in place of each rounding to float16 that can only overflow."""
        ops: list[Operation] = []
        for op in stage.ops:
            ops += self._with_products(op)
        return dataclasses.replace(stage, ops=tuple(ops))

    def _with_products(self, op: Operation) -> tuple[Operation, ...]:
        if not isinstance(op, Cast) or op.rounds_to != "float16" or op.bitcast:
            return (op,)
        maker = self._products.get(op.value)
        for factor, other in (maker.args, maker.args[::-1]) if maker else ():
            size = self._constants.get(factor, 0.0)
            if is_doubling(size, 15) and "float16" in self.held.get(other, ()):
                name = op.result
                return (
                    Constant(f"{name}_up", size * _TO_OVERFLOW, "float32"),
                    Compute(f"{name}_large", "mul", (other, f"{name}_up"), "float32"),
                    Constant(f"{name}_down", 1 / _TO_OVERFLOW, "float32"),
                    Compute(name, "mul", (f"{name}_large", f"{name}_down"), "float32"),
                )
        return (op,)

    def _note(self, op: Operation) -> None:
        held = self._held(op)
        if held:
            for name in results(op):
                self.held[name] = held

    def _held(self, op: Operation) -> frozenset[str]:
        if isinstance(op, Load):
            memory = self._memory[op.buffer]
            if op.dtype != "float32":
                self._integers[op.result] = memory
                return frozenset()
            return _HELD_BY.get(memory, frozenset())
        if isinstance(op, Constant) and op.dtype == "float32":
            value = float(op.value)
            self._constants[op.result] = value
            return frozenset(t for t in _TARGETS if is_representable(value, t))
        if isinstance(op, Cast) and op.dtype == "float32" and not op.bitcast:
            if op.rounds_to is not None:
                return _HELD_BY.get(op.rounds_to, frozenset())
            return _HELD_BY.get(self._integers.get(op.value, ""), frozenset())
        if isinstance(op, Reduce) and op.kind in ("max", "min"):
            return self.held.get(op.args[0], frozenset())
        if isinstance(op, Compute) and op.dtype == "float32":
            return self._computed(op)
        if isinstance(op, Compute) and op.dtype == "bool":
            self._integers[op.result] = "bool"
        return frozenset()

    def _computed(self, op: Compute) -> frozenset[str]:
        if op.op == "mul":
            self._products[op.result] = op
            return self._scaled(op)
        args = {"where": op.args[1:], "copysign": op.args[:1]}.get(op.op, ())
        if op.op in _CHOOSING:
            args = op.args
        if not args:
            return frozenset()
        return frozenset.intersection(
            *(self.held.get(name, frozenset()) for name in args)
        )

    def _scaled(self, op: Compute) -> frozenset[str]:
        """A bfloat16 times 1, 2, 4 ...: it has the range of float32, both ways round."""
        for factor, other in (op.args, op.args[::-1]):
            if is_doubling(self._constants.get(factor, 0.0), 127):
                return self.held.get(other, frozenset()) & {"bfloat16"}
        return frozenset()


class _Sinking:
    """Drops a rounding when all its uses come to the same with the unrounded value."""

    def __init__(
        self,
        stages: list[Stage],
        memory: Mapping[str, str],
        held: Mapping[str, frozenset[str]],
        staged: Sequence[str],
    ) -> None:
        self._stages, self._memory = stages, memory
        self._held, self._staged = held, staged
        self._uses: dict[str, list[Operation]] = {}
        self._makers: dict[str, Operation] = {}
        for stage in stages:
            for op in stage.ops:
                for name in results(op):
                    self._makers[name] = op
                for name in operands(op):
                    self._uses.setdefault(name, []).append(op)
        # Reductions whose result is rounded after the loop instead: result -> type.
        self._rounded_after: dict[str, str] = {}

    def stages(self) -> list[Stage]:
        dropped: dict[str, str] = {}
        for stage in self._stages:
            for op in stage.ops:
                if isinstance(op, Cast) and op.rounds_to in _TARGETS and not op.bitcast:
                    later: dict[str, str] = {}
                    if self._is_absorbed(op.result, op.rounds_to, op.value, later):
                        dropped[op.result] = op.value
                        self._rounded_after |= later
        result: list[Stage] = []
        for stage in self._stages:
            result += self._rewritten(stage, dropped)
        return result

    def _is_absorbed(
        self, name: str, to: str, unrounded: str, later: dict[str, str]
    ) -> bool:
        uses = self._uses.get(name, [])
        return (
            name not in self._staged
            and bool(uses)
            and all(self._absorbs(use, name, to, unrounded, later) for use in uses)
        )

    def _absorbs(
        self, use: Operation, name: str, to: str, unrounded: str, later: dict[str, str]
    ) -> bool:
        if isinstance(use, Store):
            return use.mode == "plain" and self._memory[use.buffer] == to
        if isinstance(use, Reduce) and use.kind in ("max", "min"):
            later[use.results[0]] = to
            return True
        if not isinstance(use, Compute) or use.dtype != "float32":
            return False
        sinks = use.op in _SYMMETRIC or (
            use.op == "relu" and not self._rounds_to_zero(unrounded, to)
        )
        return sinks and self._is_absorbed(use.result, to, use.result, later)

    def _rounds_to_zero(self, name: str, to: str) -> bool:
        """Whether a number other than 0 may round to it: a sum of two `to` cannot."""
        maker = self._makers.get(name)
        return not (
            isinstance(maker, Compute)
            and maker.op in ("add", "sub")
            and all(to in self._held.get(arg, frozenset()) for arg in maker.args)
        )

    def _rewritten(self, stage: Stage, dropped: Mapping[str, str]) -> list[Stage]:
        ops: list[Operation] = []
        after: list[Operation] = []
        for written in stage.ops:
            if results(written) and results(written)[0] in dropped:
                continue
            op = map_operands(written, lambda name: dropped.get(name, name))
            if isinstance(op, Reduce) and op.results[0] in self._rounded_after:
                (result,) = op.results
                raw = f"{result}_unrounded"
                to = self._rounded_after[result]
                after.append(Cast(result, raw, "float32", rounds_to=to))
                ops.append(dataclasses.replace(op, results=(raw,)))
                continue
            ops.append(op)
        rewritten: list[Stage] = [dataclasses.replace(stage, ops=tuple(ops))]
        if after and isinstance(stage, LoopStage):
            rewritten.append(PointStage(tuple(after)))
        return rewritten


def is_doubling(value: float, most: int) -> bool:
    """Whether `value` is a power of two from 1 to 2^most, with either sign."""
    size = abs(value)
    return 1 <= size <= 2.0**most and math.frexp(size)[0] == 0.5


def is_representable(value: float, memory: str) -> bool:
    """Whether `value`, taken as float32, is one of `memory`'s numbers."""
    if not math.isfinite(value):
        return True
    try:
        single = struct.unpack("<f", struct.pack("<f", value))[0]
        if memory == "bfloat16":
            return struct.unpack("<I", struct.pack("<f", single))[0] & 0xFFFF == 0
        return bool(struct.unpack("<e", struct.pack("<e", single))[0] == single)
    except OverflowError:
        return False
