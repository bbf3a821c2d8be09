"""Counts of what this process compiled and launched, for tests, `explain` and the launch log.

`graphs_planned`, `graphs_by_lines` (a graph whose lines no launch plan can hold), `modules_loaded`,
`kernels_loaded`, `extern_calls` (operators that compiled graphs call outside of kernels).
"""

from __future__ import annotations

from collections import Counter

counts: Counter[str] = Counter()
