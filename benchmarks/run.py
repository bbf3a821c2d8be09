"""Compiled for the card against stock Inductor on the CPU, end to end through the callable.

    python -m benchmarks.run [--short] [--only TEXT] [--json FILE]

Every case is checked against CPU eager (worker.check_equal) before it is timed. One where ours
fails is not timed and makes the exit code 1; one where only the peer fails is timed, and reported.
The last column is the ratio of the kernels alone. Ends with the line `geometric mean: X`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from benchmarks.cases import GROUPS, Case, all_cases, short_cases
from benchmarks.interleave import PeerProcess, Ratio, compare, geometric_mean

ROUNDS, SHORT_ROUNDS = 15, 9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="a third of the cases")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--json", type=Path, help="also write the results here")
    arguments = parser.parse_args()
    cases = short_cases() if arguments.short else all_cases()
    cases = [case for case in cases if arguments.only in f"{case.group} {case.name}"]
    rounds = SHORT_ROUNDS if arguments.short else ROUNDS

    with PeerProcess("spyre") as ours, PeerProcess("inductor") as peer:
        failures = prepare(cases, ours, peer)
        results = {}
        print(f"{'case':36} {'ours us':>9} {'inductor':>9}  ratio [quartiles]  kernels")
        for case in cases:
            if case in failures and failures[case].startswith("spyre"):
                continue
            results[case] = compare(case.name, ours, peer, rounds)
            print(line_of(case, results[case]), flush=True)
    for case, text in failures.items():
        print(f"{case.name}: {text}")
    if arguments.json:
        arguments.json.write_text(json.dumps(as_data(results), indent=1))
    print_means(results)
    return 1 if any(text.startswith("spyre") for text in failures.values()) else 0


def prepare(cases: list[Case], ours: PeerProcess, peer: PeerProcess) -> dict[Case, str]:
    """Compiles every case in both peers at once; returns the failures."""
    failures = {}
    for case in cases:
        for each in (ours, peer):
            each.send(prepare=case.name)
        for each in (peer, ours):
            if error := each.receive()["error"]:
                failures[case] = f"{each.target}: {error}"
    return failures


def line_of(case: Case, ratio: Ratio) -> str:
    return (
        f"{case.name:36} {ratio.ours_us:9.1f} {ratio.peer_us:9.1f} "
        f"{ratio.median:6.2f} [{ratio.low:.2f} {ratio.high:.2f}] {ratio.kernel:9.2f}"
    )


def as_data(results: dict[Case, Ratio]) -> list[dict]:
    return [
        {"group": case.group, "case": case.name, **dataclasses.asdict(ratio)}
        for case, ratio in results.items()
    ]


def print_means(results: dict[Case, Ratio]) -> None:
    print()
    for group in GROUPS:
        ratios = [r for case, r in results.items() if case.group == group.name]
        if ratios:
            mean = geometric_mean([ratio.median for ratio in ratios])
            kernels = geometric_mean([ratio.kernel for ratio in ratios])
            print(
                f"{group.name:24} {mean:5.2f} (goal {group.goal}, {len(ratios)} cases), "
                f"kernels alone {kernels:.2f}"
            )
    if results:
        print(
            f"geometric mean: {geometric_mean([r.median for r in results.values()]):.2f}"
        )


if __name__ == "__main__":
    sys.exit(main())
