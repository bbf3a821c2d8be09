"""Benchmarks: `python -m benchmarks.run` (make bench), `python -m benchmarks.cold_compile`."""
