"""Plans survive JSON, and bad text is refused."""

from __future__ import annotations

import json

import pytest

from spyre_inductor.errors import PlanError
from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.plan import launch_plan as lp
from spyre_inductor.plan.expr import IntOp
from spyre_inductor.plan.json_codec import from_json, to_json

_OPERATIONS = (
    kp.Constant("a", "-inf", "float32"),
    kp.Constant("b", True, "bool"),
    kp.Constant("c", -0.0, "float64"),
    kp.IndexValue("d", IntOp("mod", ("x0", 7)), "int64"),
    kp.Load(
        "e", "in_ptr0", IntOp("add", ("x0", IntOp("mul", (3, "ks0")))), "float32", "m"
    ),
    kp.Compute("f", "add", ("a", "e"), "float32"),
    kp.Cast("g", "f", "float32", rounds_to="bfloat16"),
    kp.CheckBounds("d", None, "ks0", 0),
    kp.Store("out_ptr0", 0, "g", "atomic_add"),
    kp.Reduce(("h", "i", "j"), "welford", ("e",), ("float32",) * 3),
    kp.Scan(("k",), "region", ("e",), ("float32",), ("l",), ("r",), (), ("l",)),
    kp.Random("n", "rand", ("s", "o"), "float32"),
    kp.Bucketize("p", "e", "in_ptr1", 9, 1, "d", False, "int64"),
)


@pytest.mark.parametrize("op", _OPERATIONS, ids=lambda op: type(op).__name__)
def test_an_operation_survives(op: kp.Operation) -> None:
    copy = from_json(to_json(op))
    assert copy == op and repr(copy) == repr(op)


@pytest.mark.parametrize(
    "part",
    [
        lp.SizeSource("s0", 0, "size", 1),
        lp.Memory("temporary", IntOp("mul", (4, "s0"))),
        lp.TensorSlot("buf0", 0, "float32", ("s0",), (1,)),
        lp.KernelStep("k", (0, 1), ("s0",)),
        lp.ExternStep(
            "aten::addmm",
            "out",
            (
                lp.SlotArgument(0),
                lp.ListArgument((1, lp.SizeArgument("s0"))),
                None,
                1.5,
            ),
            (lp.Result(1, (0,)),),
        ),
    ],
    ids=lambda part: type(part).__name__,
)
def test_a_part_of_a_launch_plan_survives(part: object) -> None:
    assert from_json(to_json(part)) == part


def test_equal_plans_give_equal_text() -> None:
    first = kp.Division(("x0",), 4)
    assert to_json(first) == to_json(kp.Division(("x0",), 4, 1))
    assert "grain" not in json.loads(to_json(first))


@pytest.mark.parametrize(
    "text",
    ["{", '{"type": "Nothing"}', '{"type": "Axis", "size": 3}', '{"xyz": [1]}', "{}"],
)
def test_bad_text_is_refused(text: str) -> None:
    with pytest.raises(PlanError, match="not a plan"):
        from_json(text)


def test_a_foreign_object_is_refused() -> None:
    with pytest.raises(PlanError, match="has no place in a plan"):
        to_json(kp.Constant("a", object(), "float32"))  # type: ignore[arg-type]
