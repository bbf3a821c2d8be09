"""Plans -> C++ source. Needs neither torch nor a compiler."""

from __future__ import annotations

import pytest

from spyre_inductor.plan.json_codec import from_json
from spyre_inductor.plan.verify import verify
from spyre_inductor.render.renderer import render_module
from tests.support.golden import GOLDEN, GoldenFiles

NAMES = sorted(path.stem for path in (GOLDEN / "plans").glob("*.json"))


def test_there_are_plans() -> None:
    assert len(NAMES) >= 25, "tests/golden/plans lost its files"


@pytest.mark.parametrize("name", NAMES)
def test_source_of_plans(name: str, golden: GoldenFiles) -> None:
    plans = from_json((GOLDEN / "plans" / f"{name}.json").read_text())
    source = render_module([verify(plan) for plan in plans], name)
    assert source == render_module(plans, name), "rendering must be deterministic"
    golden.check(f"sources/{name}.cpp", source)


@pytest.mark.parametrize("name", NAMES)
def test_source_fits_the_page(name: str) -> None:
    text = (GOLDEN / "sources" / f"{name}.cpp").read_text()
    long = [line for line in text.splitlines() if len(line) > 100]
    assert not long, long
