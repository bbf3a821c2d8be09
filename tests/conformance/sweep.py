"""Every operator, module and optimizer of torch's own test databases against CPU eager.

    python -m tests.conformance.sweep                      # all; shards of a few minutes each
    python -m tests.conformance.sweep --shard 1/4
    python -m tests.conformance.sweep --suites ops --dtypes float32 --only '^linalg' --again failed
    python -m tests.conformance.sweep --report docs/conformance_eager.md

Outcomes are kept as JSON lines under --out, so that a run takes up where the last one stopped;
--again failed|all forgets outcomes first. Counts go to counts.json beside them. Ends with the
failures that tests/conformance/exceptions.py does not list, and fails if there are any.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from types import ModuleType

import torch

from tests.conformance import module_cases, operator_cases, optimizer_cases
from tests.conformance.exceptions import EXCEPTIONS, is_expected
from tests.conformance.report import counts_of, write_counts, write_report
from tests.conformance.workers import Outcome, load, run_in_workers, serve

SUITES: dict[str, tuple[ModuleType, str]] = {
    "ops": (operator_cases, "operators"),
    "modules": (module_cases, "modules"),
    "optimizers": (optimizer_cases, "optimizers"),
}


def cases(suites: list[str], dtypes: list[str], only: str) -> list[str]:
    """Keys "suite|entry|dtype" of what the databases list."""
    keys = []
    for suite in suites:
        module, entries = SUITES[suite]
        for name, entry in getattr(module, entries)().items():
            if not re.search(only, name):
                continue
            for dtype in module.DTYPES:
                short = str(dtype).removeprefix("torch.")
                if (not dtypes or short in dtypes) and module.has_dtype(entry, dtype):
                    keys.append(f"{suite}|{name}|{short}")
    return keys


def run_case(key: str, samples: int) -> Outcome:
    """Every mode of one case, on at most so many samples evenly spread over torch's own."""
    suite, name, dtype = key.split("|")
    module = SUITES[suite][0]
    outcome = {}
    for mode in module.MODES:
        try:
            module.run_mode(name, getattr(torch, dtype), mode, samples)
            torch.spyre.synchronize()
            outcome[mode] = "passed"
        except operator_cases.NoResult:
            outcome[mode] = "no result"
        except Exception as error:
            text = " ".join(str(error).split())[:400]
            outcome[mode] = f"{type(error).__name__}: {text}"
    return outcome


def failures(results: dict[str, Outcome]) -> dict[tuple[str, str], str]:
    """(key, mode) -> what went wrong."""
    return {
        (key, mode): text
        for key, outcome in results.items()
        for mode, text in outcome.items()
        if text not in ("passed", "no result")
    }


def forget(path: Path, again: str) -> None:
    """Drops outcomes of an earlier run that should be made anew."""
    kept = load(path) if again == "failed" else {}
    failed = {key for key, _ in failures(kept)}
    path.unlink(missing_ok=True)
    merge(path, {key: value for key, value in kept.items() if key not in failed})


def merge(path: Path, results: dict[str, Outcome]) -> None:
    import json

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as record:
        for key, outcome in results.items():
            record.write(json.dumps({"key": key, "outcome": outcome}) + "\n")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=list(SUITES))
    parser.add_argument("--dtypes", nargs="+", default=[])
    parser.add_argument("--only", default="", help="regular expression for entries")
    parser.add_argument("--samples", type=int, default=6, help="per entry and mode")
    parser.add_argument("--shard", default="1/1", help="which of how many, as 2/4")
    parser.add_argument("--out", type=Path, default=Path("build/conformance"))
    parser.add_argument("--again", choices=("failed", "all"))
    parser.add_argument("--report", type=Path, help="write the page from a whole run")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    given = arguments()
    if given.worker:
        serve(lambda key: run_case(key, given.samples))
        return 0
    shard, shards = map(int, given.shard.split("/"))
    keys = cases(given.suites, given.dtypes, given.only)[shard - 1 :: shards]
    path = given.out / "outcomes.jsonl"
    if given.again:
        forget(path, given.again)
    command = [sys.executable, "-m", "tests.conformance.sweep", "--worker"]
    command += ["--samples", str(given.samples)]
    results = run_in_workers(keys, command, path)
    write_counts(given.out / "counts.json", results)
    for row in counts_of(results).items():
        print(*row)
    if given.report:
        write_report(given.report, results, EXCEPTIONS, given.samples)
    unexpected = {
        case: text for case, text in failures(results).items() if not is_expected(*case)
    }
    for (key, mode), text in sorted(unexpected.items()):
        print(f"FAILED {key} {mode}: {text}")
    print(f"{len(keys)} cases, {len(unexpected)} failures")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
