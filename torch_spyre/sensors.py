"""What CUDA asks of the driver's sensors: load of a card, clock, temperature, power.

The load is that of a card's two engines; small operators that run at once on the calling thread are
the host's load. An emulated card is the host's processor, so clock, temperature and power are the
host's readings; a host that offers no such sensor to this process (most virtual machines) is an
error, not a made-up number.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from torch_spyre import _C
from torch_spyre.devices import Device, _get_device_index

__all__ = ["clock_rate", "memory_usage", "power_draw", "temperature", "utilization"]

_CPU_INFO = Path("/proc/cpuinfo")
_SENSORS = Path("/sys/class")
_POWER_PERIOD_S = 0.05
_SHORTEST_PERIOD_NS = 10**9 // 6
_LONGEST_PERIOD_NS = 10**9


def _check(device: Device) -> None:
    _C.device_properties(_get_device_index(device, optional=True))  # raises


# Per card: when the engines' counters were last read, and what they were.
_readings: dict[int, tuple[int, tuple[int, int]]] = {}


def _load(device: Device) -> tuple[int, int]:
    """Percent of the last sample period that the compute and the copy engine were busy.

    The period began at the last call, if that was 1/6 s to 1 s ago, as the driver's periods are;
    otherwise it begins now, and the call takes 1/6 s.
    """
    index = _get_device_index(device, optional=True)
    _C.device_properties(index)  # raises for a card that does not exist
    now = time.monotonic_ns()
    started, before = _readings.get(index, (0, (0, 0)))
    if not _SHORTEST_PERIOD_NS <= now - started <= _LONGEST_PERIOD_NS:
        started, before = now, _C.engine_busy_ns(index)
        time.sleep(_SHORTEST_PERIOD_NS / 1e9)
        now = time.monotonic_ns()
    after = _C.engine_busy_ns(index)
    _readings[index] = (now, after)
    compute, copy = (
        min(100, round(100 * (b - a) / (now - started)))
        for a, b in zip(before, after, strict=True)
    )
    return compute, copy


def utilization(device: Device = None) -> int:
    """Percent of the last sample period (1/6 s to 1 s) during which the card ran queued kernels."""
    return _load(device)[0]


def memory_usage(device: Device = None) -> int:
    """Percent of the last sample period during which the card's copy engine was busy."""
    return _load(device)[1]


def _numbers(pattern: str) -> list[int]:
    """The numbers in files under /sys/class; what cannot be read is left out."""
    found = []
    for path in sorted(_SENSORS.glob(pattern)):
        try:
            found.append(int(path.read_text()))
        except (OSError, ValueError):
            continue
    return found


def _no_sensor(what: str) -> RuntimeError:
    return RuntimeError(
        f"This host offers no {what} sensor to this process (looked in {_SENSORS}); an emulated "
        "Spyre card has none of its own"
    )


def clock_rate(device: Device = None) -> int:
    """Clock of the fastest host core in MHz.

    Raises:
        RuntimeError: the host does not tell.
    """
    _check(device)
    clocks = re.findall(r"(?m)^cpu MHz\s*:\s*([\d.]+)", _CPU_INFO.read_text())
    kilohertz = _numbers("../devices/system/cpu/cpu*/cpufreq/scaling_cur_freq")
    megahertz = [float(clock) for clock in clocks] or [k / 1000 for k in kilohertz]
    if not megahertz:
        raise _no_sensor("clock")
    return round(max(megahertz))


def temperature(device: Device = None) -> int:
    """Temperature of the host's hottest thermal zone in degrees Celsius.

    Raises:
        RuntimeError: the host offers no sensor.
    """
    _check(device)
    millidegrees = _numbers("thermal/thermal_zone*/temp")
    if not millidegrees:
        raise _no_sensor("temperature")
    return round(max(millidegrees) / 1000)


def power_draw(device: Device = None) -> int:
    """Power of the host's processor packages in mW, over 50 ms.

    Raises:
        RuntimeError: the host offers no sensor.
    """
    _check(device)
    pattern = "powercap/intel-rapl:[0-9]/energy_uj"  # packages; deeper names are parts of them
    first, started = _numbers(pattern), time.monotonic()
    if not first:
        raise _no_sensor("power")
    time.sleep(_POWER_PERIOD_S)
    used = [
        after - before for before, after in zip(first, _numbers(pattern), strict=False)
    ]
    microjoules = sum(
        amount for amount in used if amount > 0
    )  # a counter may wrap around
    return round(microjoules / (time.monotonic() - started) / 1000)
