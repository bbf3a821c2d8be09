"""`spyre-inductor cache ...`: what is in the kernel cache, is it sound, make it smaller."""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spyre_inductor.build.cache_location import cache_directory
from spyre_inductor.build.entry import PLAN_FILE, SOURCE_FILE, CacheEntry, read_entry
from spyre_inductor.build.eviction import StoredEntry, evict, remove, stored_entries
from spyre_inductor.build.statistics import Statistics
from spyre_inductor.errors import CacheError

_SHORT_KEY = 12
_MIB = 1 << 20

Result = tuple[int, Any, str]


def add_commands(actions: Any, shared: argparse.ArgumentParser) -> None:
    """Adds list, show, verify, prune and path to the sub-parsers `actions`."""
    shared = argparse.ArgumentParser(add_help=False, parents=[shared])
    shared.add_argument(
        "--dir", default="", help="cache directory instead of the default one"
    )

    def add(name: str, command: Any, text: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = actions.add_parser(
            name, parents=[shared], help=text
        )
        parser.set_defaults(command=command)
        return parser

    add("list", list_entries, "one line per module, last used first")
    show = add("show", show_entry, "one module: kernels, build, files")
    show.add_argument("key", help="key or its first characters")
    part = show.add_mutually_exclusive_group()
    part.add_argument("--source", action="store_true", help="print kernel.cpp")
    part.add_argument("--plan", action="store_true", help="print plan.json")
    verify = add(
        "verify", verify_entries, "check every byte; exit code 1 if any is damaged"
    )
    verify.add_argument("--remove", action="store_true", help="remove the damaged ones")
    prune = add("prune", prune_entries, "remove least recently used modules")
    bound = prune.add_mutually_exclusive_group(required=True)
    bound.add_argument("--max-bytes", type=int, help="keep at most this much")
    bound.add_argument("--all", action="store_true", help="remove every module")
    add("path", print_path, "where the cache is")


def list_entries(
    arguments: argparse.Namespace, environment: Mapping[str, str]
) -> Result:
    directory = _directory(arguments, environment)
    rows: list[dict[str, Any]] = []
    for stored in reversed(stored_entries(directory)):
        names = kernel_names(_entry_path(directory, stored.key))
        rows.append({**dataclasses.asdict(stored), "kernels": names})
    counts = Statistics(directory).read()
    total = sum(row["bytes"] for row in rows)
    lines = [
        f"{row['key'][:_SHORT_KEY]}  {row['bytes'] / 1024:8.1f} KiB  {_age(row['last_used'])}  "
        f"{', '.join(row['kernels'])}"
        for row in rows
    ]
    lines.append(f"{len(rows)} modules, {total / _MIB:.1f} MiB in {directory}")
    lines.append("  ".join(f"{event} {count}" for event, count in counts.items()))
    data = {"directory": str(directory), "entries": rows, "statistics": counts}
    return 0, data, "\n".join(lines)


def show_entry(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Result:
    directory = _directory(arguments, environment)
    key = _complete_key(directory, arguments.key)
    path = _entry_path(directory, key)
    if arguments.source or arguments.plan:
        text = (path / (SOURCE_FILE if arguments.source else PLAN_FILE)).read_text()
        return 0, {"key": key, "text": text}, text.rstrip("\n")
    entry = read_entry(path, key)
    names = kernel_names(path)
    lines = [f"key      {key}", f"folder   {path}", f"kernels  {', '.join(names)}"]
    lines += [f"{name:8} {value}" for name, value in _build_lines(entry)]
    lines.append("see also: --source, --plan")
    data = {"directory": str(path), "kernels": names, **entry.build}
    return 0, data, "\n".join(lines)


def verify_entries(
    arguments: argparse.Namespace, environment: Mapping[str, str]
) -> Result:
    directory = _directory(arguments, environment)
    damaged = {}
    entries = stored_entries(directory)
    for stored in entries:
        try:
            read_entry(_entry_path(directory, stored.key), stored.key)
        except CacheError as error:
            damaged[stored.key] = str(error)
            if arguments.remove:
                remove(directory, stored.key)
    lines = [f"{key[:_SHORT_KEY]}  damaged: {why}" for key, why in damaged.items()]
    removed = " and removed" if arguments.remove and damaged else ""
    lines.append(f"{len(entries)} modules checked, {len(damaged)} damaged{removed}")
    data = {"checked": len(entries), "damaged": damaged, "removed": bool(removed)}
    return (1 if damaged else 0), data, "\n".join(lines)


def prune_entries(
    arguments: argparse.Namespace, environment: Mapping[str, str]
) -> Result:
    directory = _directory(arguments, environment)
    limit = 0 if arguments.all else arguments.max_bytes
    before = {stored.key: stored.bytes for stored in stored_entries(directory)}
    removed = evict(directory, limit, grace_seconds=0)
    freed = sum(before.get(key, 0) for key in removed)
    text = f"removed {len(removed)} of {len(before)} modules, {freed / _MIB:.1f} MiB"
    return 0, {"removed": removed, "bytes": freed}, text


def print_path(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Result:
    directory = _directory(arguments, environment)
    return (
        0,
        {"directory": str(directory), "exists": directory.is_dir()},
        str(directory),
    )


def kernel_names(entry_directory: Path) -> list[str]:
    """Entry points of a module, from its plan.json; empty when that cannot be read."""
    try:
        return sorted(
            _plan_names(json.loads((entry_directory / PLAN_FILE).read_text()))
        )
    except (OSError, ValueError):
        return []


def _plan_names(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if "template" in node and isinstance(node.get("name"), str):
            yield node["name"]
            return
        for child in node.values():
            yield from _plan_names(child)
    elif isinstance(node, list):
        for child in node:
            yield from _plan_names(child)


def _directory(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Path:
    return cache_directory(environment, arguments.dir)


def _entry_path(directory: Path, key: str) -> Path:
    return directory / "entries" / key


def _complete_key(directory: Path, start: str) -> str:
    """The one key that begins with `start`."""
    found: list[StoredEntry] = [
        e for e in stored_entries(directory) if e.key.startswith(start)
    ]
    if len(found) != 1:
        what = "no module" if not found else f"{len(found)} modules"
        raise CacheError(f"{what} in {directory} with a key that begins with {start!r}")
    return found[0].key


def _build_lines(entry: CacheEntry) -> Iterator[tuple[str, object]]:
    build = entry.build
    yield "compiler", build["compiler"]
    yield "isa", build["isa"]
    yield "abi", build["abi_version"]
    yield "built in", f"{build['compile_ms']} ms"
    yield "command", build["command"]
    for name, facts in build["files"].items():
        yield name, f"{facts['bytes']} bytes"


def _age(when: float) -> str:
    seconds = max(0.0, time.time() - when)
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{seconds / length:4.0f}{unit} ago"
    return f"{seconds:4.0f}s ago"
