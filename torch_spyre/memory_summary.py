"""memory_summary(): a card's allocator statistics as a table, in CUDA's layout."""

from __future__ import annotations

from collections.abc import Callable

from torch_spyre.devices import Device, _get_device_index

_WIDTH = 75
_BYTE_METRICS = (
    ("allocated_bytes", "Allocated memory"),
    ("active_bytes", "Active memory"),
    ("requested_bytes", "Requested memory"),
    ("reserved_bytes", "Spyre reserved memory"),
    ("inactive_split_bytes", "Non-releasable memory"),
)
_COUNT_METRICS = (
    ("allocation", "Allocations"),
    ("active", "Active allocs"),
    ("segment", "Spyre reserved segs"),
    ("inactive_split", "Non-releasable allocs"),
)
_OVERSIZE_METRICS = (
    ("oversize_allocations", "Oversize allocations"),
    ("oversize_segments", "Oversize segments"),
)
_POOLS = (
    ("large_pool", "      from large pool"),
    ("small_pool", "      from small pool"),
)
_COLUMNS = ("current", "peak", "allocated", "freed")


def _format_bytes(value: int, reference: int) -> str:
    """`value` in the unit in which `reference`, its line's total, is readable."""
    units = ["B  ", "KiB", "MiB", "GiB", "TiB"]
    scaled = float(reference)
    position = 0
    while scaled >= 768 * 1024 and position < len(units) - 1:
        scaled /= 1024
        value //= 1024
        position += 1
    return f"{value:6d} {units[position]}"


def _format_count(value: int, reference: int) -> str:
    units = [" ", "K", "M"]
    scaled = float(reference)
    position = 0
    while scaled >= 750_000 and position < len(units) - 1:
        scaled /= 1000
        value //= 1000
        position += 1
    return f"{value:7d} {units[position]} "


def memory_summary(device: Device = None, abbreviated: bool = False) -> str:
    """A table of the allocator's statistics for people.

    Args:
        device: card; None is the current one.
        abbreviated: leave out the lines per pool.
    """
    from torch_spyre.memory import memory_stats

    index = _get_device_index(device, optional=True)
    stats = memory_stats(index)

    def row(
        label: str, prefix: str, total: str, format_value: Callable[[int, int], str]
    ) -> str:
        cells = [
            format_value(
                stats.get(f"{prefix}.{column}", 0), stats.get(f"{total}.{column}", 0)
            )
            for column in _COLUMNS
        ]
        return f" {label:<21} | " + " | ".join(cells) + " "

    lines = [
        "=" * _WIDTH,
        f"{'':17} PyTorch Spyre memory summary, device ID {index}".ljust(_WIDTH),
        "-" * _WIDTH,
        (
            f"{'':12}Spyre OOMs: {stats.get('num_ooms', 0):<11d} | {'':6}"
            f" allocation retries: {stats.get('num_alloc_retries', 0)}"
        ).ljust(_WIDTH),
        "=" * _WIDTH,
        "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ",
    ]
    for metrics, format_value in (
        (_BYTE_METRICS, _format_bytes),
        (_COUNT_METRICS, _format_count),
    ):
        for key, label in metrics:
            lines.append("-" * _WIDTH)
            lines.append(row(label, f"{key}.all", f"{key}.all", format_value))
            if not abbreviated:
                for pool, pool_label in _POOLS:
                    lines.append(
                        row(pool_label, f"{key}.{pool}", f"{key}.all", format_value)
                    )
    for key, label in _OVERSIZE_METRICS:
        lines.append("-" * _WIDTH)
        lines.append(row(label, key, key, _format_count))
    lines.append("=" * _WIDTH)
    return "|" + "|\n|".join(lines) + "|\n"
