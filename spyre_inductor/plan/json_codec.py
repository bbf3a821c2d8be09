"""Plans <-> JSON.

A dataclass becomes an object with its class name under "type"; tuples become lists; fields that
equal their default are left out. The text is canonical: equal plans give equal text.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from spyre_inductor.errors import PlanError

from . import expr, kernel_plan, launch_plan

_CLASSES: dict[str, type] = {
    cls.__name__: cls
    for module in (expr, kernel_plan, launch_plan)
    for cls in vars(module).values()
    if isinstance(cls, type) and dataclasses.is_dataclass(cls)
}


def to_json(obj: Any, indent: int | None = 1) -> str:
    """JSON text of a KernelPlan, a LaunchPlan, or any part of one."""
    return json.dumps(_encode(obj), indent=indent, allow_nan=False) + "\n"


def from_json(text: str) -> Any:
    """The plan that `text` describes.

    Raises:
        PlanError: when the text is not JSON, or names an unknown class or field.
    """
    try:
        return _decode(json.loads(text))
    except (ValueError, TypeError, KeyError) as error:
        raise PlanError(f"not a plan: {error}") from error


def _encode(obj: Any) -> Any:
    if dataclasses.is_dataclass(obj) and not isinstance(obj, type):
        if isinstance(obj, expr.IntOp):
            return {obj.op: [_encode(arg) for arg in obj.args]}
        fields: dict[str, Any] = {"type": type(obj).__name__}
        for field in dataclasses.fields(obj):
            value = getattr(obj, field.name)
            if value != field.default or type(value) is not type(field.default):
                fields[field.name] = _encode(value)
        return fields
    if isinstance(obj, (tuple, list)):
        return [_encode(item) for item in obj]
    if obj is None or isinstance(obj, (bool, int, float, str)):
        return obj
    raise PlanError(f"{type(obj).__name__} has no place in a plan: {obj!r}")


def _decode(data: Any) -> Any:
    if isinstance(data, list):
        return tuple(_decode(item) for item in data)
    if not isinstance(data, dict):
        return data
    if "type" not in data:
        ((op, args),) = data.items()
        if op not in expr.INT_OPS:
            raise KeyError(f"unknown index operator {op!r}")
        return expr.IntOp(op, _decode(args))
    cls = _CLASSES[data["type"]]
    return cls(**{key: _decode(value) for key, value in data.items() if key != "type"})
