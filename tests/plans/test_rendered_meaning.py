"""Rendered kernels of real graphs equal CPU eager: the graphs of the interpreter's tests."""

from __future__ import annotations

import pytest

from tests.plans import test_pointwise_meaning, test_reduction_meaning
from tests.support.rendered_backend import check_rendered

CASES = {**test_pointwise_meaning.CASES, **test_reduction_meaning.CASES}


@pytest.mark.parametrize(
    "dynamic",
    [
        pytest.param(False, id="static"),
        pytest.param(True, id="dynamic", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", CASES)
def test_rendered_graph_equals_eager(name: str, dynamic: bool) -> None:
    function, *inputs = CASES[name]
    check_rendered(function, *inputs, dynamic=dynamic)
