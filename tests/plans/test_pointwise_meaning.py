"""Plans of pointwise graphs, interpreted in numpy, equal CPU eager."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.support.interpreted_backend import check_against_eager

torch.manual_seed(0)
_INTS = torch.randint(-50, 50, (20,))
_DIVISORS = torch.randint(1, 7, (20,))
_BYTES = torch.randint(0, 255, (20,)).to(torch.uint8)
_X = torch.randn(20)

CASES = {
    "chain": (
        lambda a, b: torch.relu(a * 2 + b).sin(),
        torch.randn(5, 7),
        torch.randn(7),
    ),
    "int": (lambda a: a * 3 - (a // 2) + a % 5, _INTS),
    "int8_wraps": (lambda a: a * a, _INTS.to(torch.int8)),
    "bool": (lambda a, b: (a > b) & (a < 1), torch.randn(30), torch.randn(30)),
    "index": (lambda a, i: a[i], torch.randn(30, 4), torch.randint(-30, 30, (7,))),
    "embedding": (
        lambda w, i: F.embedding(i, w) * 2,
        torch.randn(30, 4),
        torch.randint(0, 30, (7, 3)),
    ),
    "cat": (
        lambda a, b: torch.cat([a, b], 1) + 1,
        torch.randn(3, 4),
        torch.randn(3, 5),
    ),
    "pad": (lambda a: F.pad(a, (1, 2)), torch.randn(3, 4)),
    "transpose": (lambda a, b: a.t() + b, torch.randn(3, 4), torch.randn(4, 3)),
    "views": (
        lambda a, b: (a.view(4, 6) + b).view(2, 12),
        torch.randn(24),
        torch.randn(6),
    ),
    "views_that_do_not_nest": (
        lambda a, b: a.view(6, 4, 5).permute(1, 0, 2).reshape(24, 5) * b,
        torch.randn(120),
        torch.randn(24, 5),
    ),
    "avg_pool": (lambda a: F.avg_pool2d(a, 3, 2, 1), torch.randn(2, 3, 9, 9)),
    "upsample": (
        lambda a: F.interpolate(a, scale_factor=1.7, mode="bilinear"),
        torch.randn(2, 3, 9, 9),
    ),
    "frexp": (lambda a: torch.frexp(a), torch.randn(8, 20)),
    "roll": (lambda a: a.roll(3), torch.randn(8, 20)),
    "flip": (lambda a: a.flip(0) + 1, torch.randn(8, 20)),
    "arange": (lambda a: a + torch.arange(20), torch.randn(8, 20)),
    "in_place": (lambda a: a.add_(1).mul_(2), torch.randn(8, 20)),
    "where": (lambda a: torch.where(a > 0, a, 0), torch.randn(8, 20)),
    "uint8": (
        lambda a, b: (a + b, a - b, a * b, a // 3, a > b, a.max()),
        _BYTES,
        _BYTES.flip(0),
    ),
    "scalar": (lambda a: a * 2, torch.randn(())),
    "float8": (lambda a: a.to(torch.float8_e4m3fn).float() * 2, torch.randn(30)),
    "bitcast": (lambda a: a.view(torch.int32) + 1, torch.randn(30)),
    "unfold": (lambda a: a.unfold(0, 3, 2) * 1, torch.randn(31)),
    "special": (
        lambda a: torch.logit(a) + torch.erfinv(a) + torch.lgamma(a) + torch.digamma(a),
        torch.rand(20),
    ),
    "pow": (lambda a: (a**2.5) + 2**a + a**3, torch.rand(20)),
    "int_pow": (lambda a: (a**2) + 2**a, torch.randint(0, 5, (20,))),
    "shifts": (
        lambda a, b: (a << b) + (a >> b) + (~a) + (a ^ b) + (a | b),
        _INTS,
        _DIVISORS,
    ),
    "int_division": (
        lambda a, b: (
            torch.div(a, b, rounding_mode="floor"),
            torch.div(a, b, rounding_mode="trunc"),
            a / b,
            a % b,
            torch.fmod(a, b),
        ),
        _INTS,
        _DIVISORS,
    ),
    "float_division": (
        lambda a, b: (
            torch.div(a, b, rounding_mode="floor"),
            torch.div(a, b, rounding_mode="trunc"),
            a % b,
            torch.fmod(a, b),
        ),
        _X,
        torch.randn(20),
    ),
    "nan": (
        lambda a: (a.max(), a.argmax(), torch.maximum(a, a.flip(0)), a.amin()),
        torch.tensor([1.0, float("nan"), 3.0]),
    ),
    "ldexp": (lambda a, b: torch.ldexp(a, b), _X, torch.randint(-5, 7, (20,))),
    "signs": (lambda a: (a.sign(), a.signbit(), a.isnan(), -a, a.abs(), a.round()), _X),
    "int_signs": (
        lambda a: (a.sign(), a.signbit(), a.isnan(), a.abs(), a.ceil()),
        _INTS,
    ),
    "half": (lambda a: (a.exp(), a + a, a * 0.1), _X.half()),
    "truncation_of_rounded": (
        lambda a: ((a * 100).to(torch.int32), (a * 100 > 7).to(torch.int8)),
        torch.randn(200).bfloat16(),
    ),
    "uint16": (
        lambda a, b: (a & b, a == b),
        _BYTES.to(torch.uint16),
        _BYTES.flip(0).to(torch.uint16),
    ),
    "tril": (lambda a: a.tril(), torch.randn(5, 30)),
    "one_hot": (lambda a: F.one_hot(a, 7), torch.randint(0, 7, (5,))),
    "gather": (
        lambda a, i: a.gather(1, i),
        torch.randn(5, 30),
        torch.randint(0, 30, (5, 4)),
    ),
    "scatter": (
        lambda a, i, s: a.scatter(1, i, s),
        torch.randn(5, 30),
        torch.arange(4).expand(5, 4),
        torch.randn(5, 4),
    ),
    "scatter_add": (
        lambda a, i, s: a.scatter_add(0, i, s),
        torch.randn(6, 3),
        torch.randint(0, 6, (8, 3)),
        torch.randn(8, 3),
    ),
    "index_put": (
        lambda a, i, s: torch.ops.aten.index_put(a, [i], s, True),
        torch.randn(5, 30),
        torch.tensor([1, 1, 3]),
        torch.randn(3, 30),
    ),
    "item": (lambda a: a * a.sum().item(), torch.randn(5, 30)),
    "bucketize": (
        lambda a, b: torch.bucketize(a, b),
        torch.randn(20),
        torch.randn(9).sort()[0],
    ),
    "searchsorted": (
        lambda a, b: torch.searchsorted(b, a),
        torch.randn(3, 20),
        torch.randn(3, 9).sort(-1)[0],
    ),
}


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", CASES)
def test_plan_equals_eager(name: str, dynamic: bool) -> None:
    function, *inputs = CASES[name]
    check_against_eager(function, *inputs, dynamic=dynamic)
