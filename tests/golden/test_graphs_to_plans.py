"""Graph -> plans, as JSON that a reviewer can read. Needs torch, no device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from spyre_inductor.plan.json_codec import to_json
from tests.golden.graphs import DYNAMIC_GRAPHS, GRAPHS
from tests.support.golden import GoldenFiles
from tests.support.interpreted_backend import interpreted_backend

CASES = [(f, False) for f in GRAPHS] + [(f, True) for f in DYNAMIC_GRAPHS]


def _name(function: Callable[..., Any], dynamic: bool) -> str:
    return function.__name__ + ("_dynamic" if dynamic else "")


@pytest.mark.parametrize(("function", "dynamic"), CASES, ids=[_name(*c) for c in CASES])
def test_plans_of_graph(
    function: Callable[..., Any], dynamic: bool, golden: GoldenFiles
) -> None:
    inputs = [x.clone() for x in GRAPHS[function]]
    with interpreted_backend() as plans, torch.no_grad():
        torch.compile(function, dynamic=dynamic)(*inputs)
        text = to_json(list(plans))
    golden.check(f"plans/{_name(function, dynamic)}.json", text)
