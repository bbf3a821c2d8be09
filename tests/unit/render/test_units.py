"""The division of a long module in two: everything once, groups with their kernels, balance."""

from __future__ import annotations

import ctypes
from pathlib import Path

from spyre_inductor.build.compile import build_module
from spyre_inductor.build.kernel_cache import KernelCache
from spyre_inductor.build.toolchain import detect_toolchain, unit_count
from spyre_inductor.plan import kernel_plan as kp
from spyre_inductor.render.environment import INCLUDE_DIR
from spyre_inductor.render.renderer import ModuleText, render_module
from spyre_inductor.render.units import divide_in_units
from tests.support.modules import CXX, INCLUDE, MAX_BYTES, PLANS
from tests.unit.render.test_groups import _scale


def kernels(count: int) -> list[kp.KernelPlan]:
    return [_scale(f"k{number}", 2.0, 10) for number in range(count)]


def divided(plans: list, lengths: list[int]) -> list[list[str]]:
    texts = {p.name: "x" * n for p, n in zip(plans, lengths, strict=True)}
    return divide_in_units(plans, texts)


def test_a_short_module_is_one_unit() -> None:
    assert divided(kernels(4), [1, 2, 3, 4]) == [["k0", "k1", "k2", "k3"]]


def test_two_units_of_equal_length_keep_the_order() -> None:
    units = divided(kernels(6), [60, 10, 10, 10, 10, 20])
    assert sorted(units) == [["k0"], ["k1", "k2", "k3", "k4", "k5"]]


def test_groups_stay_with_their_kernels() -> None:
    plans: list = kernels(6)
    plans.append(kp.KernelGroup("g0", (plans[0], plans[1]), (plans[2],)))
    plans.append(kp.KernelGroup("g1", (plans[2], plans[0])))
    units = divided(plans, [10] * 8)
    assert sorted(map(sorted, units)) == [
        ["g0", "g1", "k0", "k1", "k2"],
        ["k3", "k4", "k5"],
    ]


def test_one_group_of_everything_is_one_unit() -> None:
    plans: list = kernels(6)
    plans.append(kp.KernelGroup("all", tuple(plans)))
    assert len(divided(plans, [10] * 7)) == 1


def test_the_compiler_finds_the_marks() -> None:
    assert unit_count(render_module(kernels(4), "graph")) == 1
    source = render_module(kernels(5), "graph")
    assert unit_count(source) == 2
    assert source.count("spyre_kernel_abi_version =") == 1


def test_the_text_of_a_closed_unit_begins_the_file() -> None:
    plans: list = kernels(7)
    begun = ModuleText("graph")
    first = begun.close_unit(plans[:4])
    assert begun.is_closed("k3") and not begun.is_closed("k4")
    assert begun.complete(plans).startswith(first)
    assert unit_count(first) == 1
    assert unit_count(begun.complete(plans)) == 2


def test_a_later_group_calls_kernels_of_an_earlier_unit(tmp_path: Path) -> None:
    plans: list = kernels(6)
    begun = ModuleText("graph")
    begun.close_unit(plans[:4])
    plans.append(kp.KernelGroup("g0", (plans[0], plans[5]), (plans[2],)))
    source = begun.complete(plans)
    second = source[source.index("SPYRE_UNIT == 2") :]
    assert "SPYRE_KERNEL(k0);\nSPYRE_KERNEL(k2);\n" in second
    assert "SPYRE_KERNEL(k5);" not in second
    # Apart and whole; a missing symbol would be refused.
    tools = detect_toolchain(CXX, "native", [INCLUDE_DIR, INCLUDE])
    cache = KernelCache(tmp_path, MAX_BYTES)
    for text in (source, source.replace("SPYRE_UNIT ==", "SPYRE_UNIT  ==")):
        entry = build_module(text, PLANS, tools, cache)
        assert hasattr(ctypes.CDLL(str(entry.so_path)), "g0")
