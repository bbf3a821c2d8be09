"""What is left out of a process's first compile is really not needed, or made when it is."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import weakref

import jinja2
import pytest
import torch
from torch._dynamo.utils import counters
from torch._inductor import codecache

from spyre_inductor import cold_start
from tests.support.compiled import check, fresh_dynamo  # noqa: F401
from tests.support.sources import REPOSITORY


def test_hash_of_torch_is_what_inductor_computes() -> None:
    process = cold_start.start_source_hash()
    assert process is not None
    before = codecache.torch_key()
    assert cold_start.finish_source_hash(process) == before
    codecache.torch_key.clear()
    assert codecache.torch_key() == before


def test_hash_that_fails_is_none() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "print('short')"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert cold_start.finish_source_hash(process) is None


def test_collector_runs_again_after_a_failed_import() -> None:
    with pytest.raises(ImportError), cold_start.collector_paused():
        assert not gc.isenabled()
        raise ImportError
    assert gc.isenabled()


class Knot:
    """An object that only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


def test_what_was_made_while_paused_is_old_but_not_immortal() -> None:
    with cold_start.collector_paused():
        knot = Knot()
    assert not any(entry is knot for entry in gc.get_objects(generation=0))
    gone = weakref.ref(knot)
    del knot
    assert gc.get_freeze_count() == 0
    gc.collect()
    assert gone() is None


def test_what_the_user_has_frozen_stays_frozen() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with cold_start.collector_paused():
            pass
        assert gc.get_freeze_count() == frozen
    finally:
        gc.unfreeze()


def test_deferred_template_renders_and_reports_as_jinja_does() -> None:
    environment = cold_start._DeferringEnvironment(jinja2.Environment())
    assert environment.from_string("{{ x }}!").render(x=3) == "3!"
    refused = environment.from_string("{% if %}")
    with pytest.raises(jinja2.TemplateSyntaxError):
        refused.render()


def test_every_pattern_needs_an_operator_that_builds_its_table() -> None:
    """When it fails, upstream has a pattern that passes/pattern_tables.py does not know."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.pattern_anchors"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert all(count > 0 for count in found["patterns"])
    assert found["unknown"] == []


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return (q @ k.transpose(-2, -1)).div(8.0).softmax(-1) @ v


@pytest.mark.usefixtures("fresh_dynamo")
def test_attention_is_still_found_after_graphs_that_need_no_table() -> None:
    check(lambda x: x.sin() + 1, torch.randn(8))
    q = torch.randn(2, 4, 8, 64)
    counters["inductor"].clear()
    check(attention, q, torch.randn(2, 4, 8, 64), torch.randn(2, 4, 8, 64))
    assert counters["inductor"]["fuse_attention"] > 0
