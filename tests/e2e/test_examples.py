"""Every example runs in a process of its own and says what it promises."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.sources import REPOSITORY, calls_of, name_of, tree_of

EXAMPLES = sorted((REPOSITORY / "examples").glob("*.py"))
# What the output must contain.
SAYS = {
    "hello_device.py": "and the card goes on: True",
    "inspect_kernel.py": "kernels: spyre_fused",
    "overlap_streams.py": "side by side",
    "train_step.py": "of the points are on the right spiral",
}


def run(name: str, *words: str) -> str:
    command = [sys.executable, str(REPOSITORY / "examples" / name), *words]
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", SAYS)
def test_example_runs(name: str) -> None:
    output = run(name)
    assert SAYS[name] in output
    if name == "train_step.py":
        assert float(output.splitlines()[-1].split("%")[0]) > 90


def test_sentence_embeddings_equal_eager_and_are_cached() -> None:
    cold = json.loads(run("sentence_similarity.py", "--json"))
    assert cold["cosine_min"] >= 0.9999
    assert cold["kernels"] > 0 and cold["cache"]["compiles"] > 0
    warm = json.loads(run("sentence_similarity.py", "--json"))
    assert warm["cosine_min"] >= 0.9999
    assert warm["cache"]["compiles"] == 0
    assert warm["cache"]["hits"] == cold["cache"]["compiles"]
    assert warm["kernels"] == cold["kernels"]


def test_every_example_is_tested_and_has_a_main() -> None:
    assert {path.name for path in EXAMPLES} == {*SAYS, "sentence_similarity.py"}
    for path in EXAMPLES:
        assert calls_of(path, "main"), f"{name_of(path)} has no main()"
        assert tree_of(path).body[0].value.value, f"{name_of(path)} has no docstring"
