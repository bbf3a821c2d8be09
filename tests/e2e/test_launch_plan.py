"""LaunchPlans: size expressions, memory, extern calls, errors; against the same lines in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch._inductor.codecache import PyCodeCache

from spyre_inductor.errors import LaunchError, PlanError
from spyre_inductor.launch.plan_encoding import PlanEncoder
from spyre_inductor.launch.statistics import counts
from spyre_inductor.plan.expr import IntExpr, IntOp
from spyre_inductor.plan.json_codec import from_json, to_json
from spyre_inductor.plan.launch_plan import LaunchPlan, SizeOutput, SizeSource
from tests.support.compiled import assert_same, fresh_dynamo, on  # noqa: F401
from torch_spyre import _C

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

A, B, C = "a", "b", "c"
EXPRESSIONS: list[tuple[IntExpr, Callable[[int, int, int], int]]] = [
    (7, lambda a, b, c: 7),
    (A, lambda a, b, c: a),
    (IntOp("add", (A, B, C)), lambda a, b, c: a + b + c),
    (IntOp("mul", (A, -3, C)), lambda a, b, c: a * -3 * c),
    (IntOp("min", (A, B)), lambda a, b, c: min(a, b)),
    (IntOp("max", (A, B, 5)), lambda a, b, c: max(a, b, 5)),
    (IntOp("floordiv", (A, B)), lambda a, b, c: a // b),
    (IntOp("mod", (A, B)), lambda a, b, c: a % b),
    (IntOp("ceildiv", (A, B)), lambda a, b, c: -(-a // b)),
    (IntOp("pow", (A, 3)), lambda a, b, c: a**3),
    (IntOp("lshift", (C, 4)), lambda a, b, c: c << 4),
    (IntOp("rshift", (A, 2)), lambda a, b, c: a >> 2),
    (IntOp("eq", (A, B)), lambda a, b, c: int(a == b)),
    (IntOp("ne", (A, B)), lambda a, b, c: int(a != b)),
    (IntOp("lt", (A, B)), lambda a, b, c: int(a < b)),
    (IntOp("le", (A, B)), lambda a, b, c: int(a <= b)),
    (IntOp("and", (A, C)), lambda a, b, c: int(bool(a and c))),
    (IntOp("or", (A, C)), lambda a, b, c: int(bool(a or c))),
    (IntOp("where", (IntOp("lt", (A, B)), C, A)), lambda a, b, c: c if a < b else a),
]


def size_plan(*exprs: IntExpr) -> LaunchPlan:
    """Takes a, b, c and returns the expressions' values."""
    return LaunchPlan(
        name="sizes",
        device=0,
        input_count=3,
        constants=(),
        sizes=tuple(SizeSource(name, i, "value") for i, name in enumerate((A, B, C))),
        memories=(),
        slots=(),
        steps=(),
        outputs=tuple(SizeOutput(expr) for expr in exprs),
    )


@pytest.mark.parametrize(
    "sizes", [(9, 4, 2), (-9, 4, 0), (7, -2, 3), (0, 5, 1), (4, 4, 0)]
)
def test_size_expressions_are_pythons(sizes: tuple[int, int, int]) -> None:
    plan = size_plan(*(expr for expr, _ in EXPRESSIONS))
    assert from_json(to_json(plan)) == plan
    launch = _C.make_launch_plan(*PlanEncoder(plan, {}).encode())
    assert launch(list(sizes)) == tuple(function(*sizes) for _, function in EXPRESSIONS)


def test_unbound_size_is_refused() -> None:
    with pytest.raises(PlanError, match="'d' is not bound at launch"):
        PlanEncoder(size_plan("d"), {}).encode()


def test_division_by_zero_is_an_error_not_a_crash() -> None:
    launch = _C.make_launch_plan(
        *PlanEncoder(size_plan(IntOp("mod", (A, B))), {}).encode()
    )
    with pytest.raises(RuntimeError, match="division by zero"):
        launch([3, 0, 1])
    assert launch([7, 4, 1]) == (3,)


def planned_and_by_lines(fn: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Compiled fn run from its launch plan; checks that its lines in Python give the same."""
    before = counts["graphs_planned"]
    there = on("spyre", args)
    result = torch.compile(fn, backend="spyre", **options)(*there)
    assert counts["graphs_planned"] == before + 1, "no launch plan"
    assert_same(result, fn(*on("cpu", args)), "spyre")
    module = PyCodeCache.modules[-1]
    flat = [a for a in on("spyre", args) if isinstance(a, torch.Tensor)]
    by_lines = module.runner.call(list(flat))
    planned = module.call(list(flat))
    for got, wanted in zip(planned, by_lines, strict=True):
        torch.testing.assert_close(got, wanted, equal_nan=True)
        assert got.stride() == wanted.stride()
    return module


EXTERN_GRAPHS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "matmuls": (
        lambda c, a, b: (torch.addmm(c, a, b), torch.bmm(a[None], b[None]).relu()),
        (torch.randn(5), torch.randn(6, 4), torch.randn(4, 5)),
    ),
    "convolution": (
        lambda x, w: F.relu(F.conv2d(x, w, stride=2, padding=1)).sum((2, 3)),
        (torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3)),
    ),
    "several results": (
        lambda x: (*torch.topk(x * 2, 3), torch.sort(x, stable=True)[1]),
        (torch.randperm(40).reshape(4, 10).float(),),
    ),
    "one of several results": (
        lambda i, w, o: F.embedding_bag(i, w, o, mode="sum"),
        (torch.tensor([5, 1, 6, 5, 6]), torch.randn(10, 5), torch.tensor([0, 3])),
    ),
    "attention": (
        lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True) + 1,
        (torch.randn(1, 2, 8, 16),),
    ),
    "views and concatenation": (
        lambda x, y: torch.cat([x @ y, x[:, :2], (x * 2)[:, 1:]], 1).t(),
        (torch.randn(3, 4), torch.randn(4, 4)),
    ),
}


@pytest.mark.parametrize("name", EXTERN_GRAPHS)
def test_extern_calls(name: str) -> None:
    fn, args = EXTERN_GRAPHS[name]
    planned_and_by_lines(fn, *args)


def test_large_graph_is_queued_and_right() -> None:
    def fn(x, w):
        for _ in range(3):
            x = torch.tanh(x @ w) + x.mean(-1, keepdim=True)
        return x

    planned_and_by_lines(fn, torch.randn(512, 512), torch.randn(512, 512) / 23)


def chain(x: torch.Tensor) -> torch.Tensor:
    for dim in (0, 1, 0, 1, 0, 1):
        x = x - x.mean(dim, keepdim=True) * 0.5
    return x


def test_temporaries_share_memory_and_a_call_allocates_outputs_and_one_workspace() -> (
    None
):
    module = planned_and_by_lines(chain, torch.randn(256, 256))
    x = torch.randn(256, 256).to("spyre")
    module.call([x])
    torch.spyre.synchronize()
    before = torch.accelerator.memory_stats()
    torch.accelerator.reset_peak_memory_stats()
    result = module.call([x])
    torch.spyre.synchronize()
    after = torch.accelerator.memory_stats()
    key = "allocation.all.allocated"
    assert after[key] - before[key] == 2
    grown = after["allocated_bytes.all.peak"] - before["allocated_bytes.all.current"]
    assert grown <= 4 * x.numel() * x.element_size()
    assert after["segment.all.allocated"] == before["segment.all.allocated"]
    del result


def test_sizes_of_the_call_decide() -> None:
    compiled = torch.compile(chain, backend="spyre", dynamic=True)
    for shape in ((3, 5), (64, 2), (3, 5), (200, 300), *((i, i) for i in range(4, 16))):
        x = torch.randn(shape)
        torch.testing.assert_close(compiled(x.to("spyre")).cpu(), chain(x))


def test_constants_are_inputs() -> None:
    table = torch.randn(6, 6).to("spyre")

    def fn(x):
        return x @ table + 1

    compiled = torch.compile(fn, backend="spyre", options={"freezing": True})
    x = torch.randn(2, 6).to("spyre")
    with torch.no_grad():
        torch.testing.assert_close(compiled(x).cpu(), x.cpu() @ table.cpu() + 1)


@pytest.mark.parametrize("size", [4, 600])
def test_failing_extern_call(size: int) -> None:
    def fn(x):
        return torch.linalg.cholesky(x * 1.0) + 1

    compiled = torch.compile(fn, backend="spyre")
    good = torch.eye(size).to("spyre")
    compiled(good)
    torch.spyre.synchronize()
    with pytest.raises(RuntimeError, match="positive-definite"):
        compiled(-good)
        torch.spyre.synchronize()
    torch.testing.assert_close(compiled(good).cpu(), torch.eye(size) + 1)


def test_arguments_are_checked_against_the_plan() -> None:
    module = planned_and_by_lines(lambda x: x.exp() + 1, torch.randn(4, 3))
    with pytest.raises(LaunchError, match="expected a Float tensor of shape"):
        module.call([torch.randn(4, 3).double().to("spyre")])


def test_deferred_plan_is_made_once_and_again_after_a_failure() -> None:
    plan = _C.make_launch_plan(*PlanEncoder(size_plan(A), {}).encode())
    attempts: list[Any] = []

    def make() -> Any:
        attempts.append(len(attempts))
        if len(attempts) == 1:
            raise OSError("no space")
        return plan if len(attempts) > 2 else 7

    deferred = _C.defer_launch_plan(make)
    assert "first call" in repr(deferred)
    with pytest.raises(OSError, match="no space"):
        deferred([3, 0, 1])
    with pytest.raises(TypeError, match="made 7"):
        deferred([3, 0, 1])
    assert [deferred([n, 0, 1]) for n in (5, 6)] == [(5,), (6,)]
    assert attempts == [0, 1, 2]
    assert "1 outputs" in repr(deferred)
