"""Cases run in worker processes: a crash or a hang costs one case, a rerun takes up where it was.

The parent writes keys to a worker's standard input, one at a time, and reads one JSON line of
outcomes back; finished cases are appended to a file of JSON lines.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

Outcome = dict[str, str]  # mode -> "passed" | "no result" | what went wrong


def load(path: Path) -> dict[str, Outcome]:
    """Outcomes by key; the last line of a key counts."""
    if not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["key"]: line["outcome"] for line in lines}


def run_in_workers(
    keys: list[str], command: list[str], path: Path, case_seconds: float = 120
) -> dict[str, Outcome]:
    """Runs `command` until every key has an outcome in `path`."""
    done = load(path)
    left = [key for key in keys if key not in done]
    path.parent.mkdir(parents=True, exist_ok=True)
    worker: _Worker | None = None
    start = time.monotonic()
    with path.open("a", buffering=1) as record:
        for number, key in enumerate(left, 1):
            worker = worker or _Worker(command)
            outcome = worker.run(key, case_seconds)
            if outcome is None:
                outcome = {"process": worker.end()}
                worker = None
            record.write(json.dumps({"key": key, "outcome": outcome}) + "\n")
            done[key] = outcome
            if number % 200 == 0 or number == len(left):
                seconds = time.monotonic() - start
                print(f"{number} of {len(left)} cases, {seconds:.0f} s", flush=True)
    if worker is not None:
        worker.end()
    return {key: done[key] for key in keys}


class _Worker:
    def __init__(self, command: list[str]) -> None:
        # One thread on either side: sums then add up in the same order.
        environment = {
            "OMP_NUM_THREADS": "1",
            "SPYRE_NUM_THREADS": "1",
            "SPYRE_POISON_FREED_MEMORY": "1",
            **os.environ,
        }
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
            bufsize=1,
        )

    def run(self, key: str, seconds: float) -> Outcome | None:
        """None when the process died or took longer."""
        process = self.process
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(key + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            return None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                process.kill()
                return None
        line = process.stdout.readline()
        return json.loads(line) if line.endswith("\n") else None

    def end(self) -> str:
        """Closes its input and says how the process ended."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            code = self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        return f"the process ended with {code}"


def serve(run: Callable[[str], Outcome]) -> None:
    """A worker's loop. Whatever cases print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(run(line.strip())) + "\n")
