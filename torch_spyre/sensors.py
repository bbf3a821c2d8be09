"""What CUDA asks of the driver's sensors: load of a card, clock, temperature, power.

An emulated card is the host's processor, so the last three are the host's readings; a host that
offers no such sensor to this process (most virtual machines) is an error, not a made-up number.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from torch_spyre import _C
from torch_spyre.devices import Device, _get_device_index

__all__ = ["clock_rate", "power_draw", "temperature"]

_CPU_INFO = Path("/proc/cpuinfo")
_SENSORS = Path("/sys/class")
_POWER_PERIOD_S = 0.05


def _check(device: Device) -> None:
    _C.device_properties(_get_device_index(device, optional=True))  # raises


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
