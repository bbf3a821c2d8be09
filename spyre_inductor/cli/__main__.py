"""Entry point of `spyre-inductor`; also `python -m spyre_inductor.cli`.

Imports neither torch nor config, so that it starts at once. The environment is read here and passed
on. Exit codes: 0 done, 1 `cache verify` found damage, 2 the request cannot be served.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spyre_inductor.errors import SpyreError

from . import cache, env

# A command takes the parsed arguments and the environment, and gives its exit code, the result as
# JSON data, and the result as text.
Command = Callable[[argparse.Namespace, Mapping[str, str]], tuple[int, Any, str]]


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    command: Command = arguments.command
    try:
        code, data, text = command(arguments, os.environ)
    except (SpyreError, OSError) as error:
        print(f"spyre-inductor: {error}", file=sys.stderr)
        return 2
    try:
        print(json.dumps(data, indent=1) if arguments.json else text)
    except BrokenPipeError:  # `... | head`
        sys.stderr.close()
    return code


def _parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print data, not text")
    parser = argparse.ArgumentParser(
        prog="spyre-inductor", description=__doc__.split("\n")[0]
    )
    parser.description = "Look at the kernel cache and at this installation."
    groups = parser.add_subparsers(required=True, metavar="command")
    report = groups.add_parser(
        "env",
        parents=[shared],
        help="versions, compiler, host and knobs, for a bug report",
    )
    report.set_defaults(command=env.report)
    group = groups.add_parser(
        "cache", help="list, show, verify or prune compiled kernels"
    )
    cache.add_commands(group.add_subparsers(required=True, metavar="action"), shared)
    return parser


if __name__ == "__main__":
    sys.exit(main())
