"""Clock, temperature and power are the host's; a host without a sensor is an error."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from torch_spyre import sensors

spyre = torch.spyre


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty /sys/class and /proc/cpuinfo, for the test to fill."""
    monkeypatch.setattr(sensors, "_SENSORS", tmp_path / "class")
    monkeypatch.setattr(sensors, "_CPU_INFO", tmp_path / "cpuinfo")
    (tmp_path / "cpuinfo").write_text("model name : none\n")
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_clock_is_that_of_the_fastest_core(host: Path) -> None:
    (host / "cpuinfo").write_text("cpu MHz\t\t: 2100.4\ncpu MHz\t\t: 3199.9\n")
    assert spyre.clock_rate() == 3200


def test_temperature_is_that_of_the_hottest_zone(host: Path) -> None:
    write(host / "class/thermal/thermal_zone0/temp", "41000\n")
    write(host / "class/thermal/thermal_zone1/temp", "55600\n")
    assert spyre.temperature("spyre:1") == 56


def test_power_is_energy_per_time(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = host / "class/powercap/intel-rapl:0/energy_uj"
    write(counter, "1000000")
    monkeypatch.setattr(sensors.time, "sleep", lambda _: write(counter, "3000000"))
    clock = iter([10.0, 12.0])
    monkeypatch.setattr(sensors.time, "monotonic", lambda: next(clock))
    assert spyre.power_draw(0) == 1000  # 2 J in 2 s


@pytest.mark.parametrize("name", ["clock_rate", "temperature", "power_draw"])
def test_a_missing_sensor_is_an_error(host: Path, name: str) -> None:
    with pytest.raises(RuntimeError, match=r"offers no \w+ sensor"):
        getattr(spyre, name)()


@pytest.mark.parametrize("name", ["clock_rate", "temperature", "power_draw"])
def test_a_card_that_does_not_exist(name: str) -> None:
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        getattr(spyre, name)(spyre.device_count())


def test_processes_of_a_card() -> None:
    import os

    x = torch.ones(8, device="spyre")
    assert f"process {os.getpid():>10d} uses" in spyre.list_gpu_processes()
    assert spyre.list_gpu_processes("spyre:0").startswith("Spyre:0\n")
    del x


def test_utilization_is_the_engines_share_of_the_period() -> None:
    spyre.synchronize()
    sensors._readings.clear()
    assert spyre.utilization() == 0 and spyre.memory_usage("spyre:1") == 0
    sensors._readings.clear()
    x = torch.ones(1200, 1200, device="spyre")
    while sensors._C.queued_work(0) < 30:
        x @ x
    percent = spyre.utilization()
    assert sensors._C.queued_work(0) > 0  # the card had work during the whole period
    assert percent >= 50
    spyre.synchronize()


def test_readings_of_the_same_period_do_not_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    period = 300_000_000
    monkeypatch.setitem(sensors._readings, 0, (0, (0, 0)))
    monkeypatch.setattr(sensors.time, "monotonic_ns", lambda: period)
    monkeypatch.setattr(
        sensors._C, "engine_busy_ns", lambda index: (period // 2, period // 10)
    )
    assert sensors._load(0) == (50, 10)
