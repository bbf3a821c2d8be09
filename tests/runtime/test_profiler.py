"""torch.profiler on spyre: device rows, their operators, user ranges, memory, traces."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile, record_function, schedule

from torch_spyre import _C

BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
LARGE = 512  # a product of this size is queued, not run inline


def trace_events(profiled: profile, tmp_path: Path) -> list[dict[str, Any]]:
    path = tmp_path / "trace.json"
    profiled.export_chrome_trace(str(path))
    return json.loads(path.read_text())["traceEvents"]


def rows(events: list[dict[str, Any]], category: str) -> list[dict[str, Any]]:
    return [event for event in events if event.get("cat") == category]


def device_time(profiled: profile, name: str) -> float:
    return sum(
        row.self_device_time_total
        for row in profiled.key_averages()
        if row.key == name and row.device_type == DeviceType.CPU
    )


def test_queued_kernel_counts_as_device_time_of_its_operator() -> None:
    x = torch.rand(LARGE, LARGE, device="spyre")
    with profile(activities=BOTH) as profiled:
        x @ x
        torch.spyre.synchronize()
    assert device_time(profiled, "aten::mm") > 0


def test_inline_run_counts_as_device_time_of_its_operator() -> None:
    x = torch.rand(4, device="spyre")
    torch.spyre.synchronize()
    with profile(activities=BOTH) as profiled:
        x + x
    assert device_time(profiled, "aten::add") > 0


STRUCTURED = {
    "aten::exp": lambda x: x.exp(),
    "aten::add": lambda x: x + x,
    "aten::mul_": lambda x: x.mul_(x),
    "aten::atan2": lambda x: x.atan2(x),
    "aten::sinh_": lambda x: x.sinh_(),
    "aten::amax": lambda x: x.amax(-1),
    "aten::sum": lambda x: x.sum(-1),
    "aten::max": lambda x: x.max(-1),
    "aten::cat": lambda x: torch.cat([x, x]),
}


@pytest.mark.parametrize("activities", [BOTH, BOTH[:1]], ids=["device", "cpu"])
@pytest.mark.parametrize("side", [4, LARGE])
@pytest.mark.parametrize("name", STRUCTURED)
def test_one_call_is_one_row(
    name: str, side: int, activities: list[ProfilerActivity]
) -> None:
    x = torch.rand(side, side, device="spyre")
    with profile(activities=activities) as profiled:
        STRUCTURED[name](x)
        torch.spyre.synchronize()
    (row,) = [row for row in profiled.key_averages() if row.key == name]
    assert row.count == 1
    assert row.device_time_total == row.self_device_time_total
    assert (row.device_time_total > 0) == (activities is BOTH)


def test_default_activities_include_the_device() -> None:
    assert ProfilerActivity.PrivateUse1 in torch.profiler.supported_activities()
    x = torch.rand(4, device="spyre")
    with profile() as profiled:
        x * 2
    assert device_time(profiled, "aten::mul") > 0


def test_trace_links_launch_kernel_and_operator(tmp_path: Path) -> None:
    x = torch.rand(LARGE, LARGE, device="spyre")
    with profile(activities=BOTH) as profiled:
        x @ x
        torch.spyre.synchronize()
    events = trace_events(profiled, tmp_path)
    (kernel,) = [row for row in rows(events, "kernel") if "mm" in row["name"]]
    (launch,) = [
        row
        for row in rows(events, "privateuse1_runtime")
        if row["args"]["correlation"] == kernel["args"]["correlation"]
    ]
    operators = {row["args"]["External id"]: row for row in rows(events, "cpu_op")}
    operator = operators[kernel["args"]["External id"]]
    assert operator["name"] == "aten::mm"
    assert launch["tid"] == operator["tid"]
    assert operator["ts"] <= launch["ts"] <= operator["ts"] + operator["dur"]
    assert kernel["ts"] + kernel["dur"] >= launch["ts"]
    assert (kernel["pid"], kernel["tid"]) == (0, torch.spyre.current_stream().stream_id)
    flows = [
        row
        for row in rows(events, "ac2g")
        if row["id"] == kernel["args"]["correlation"]
    ]
    assert sorted(row["ph"] for row in flows) == ["f", "s"]


def test_copies_are_memcpy_rows_in_both_directions(tmp_path: Path) -> None:
    host = torch.rand(1 << 20)
    with profile(activities=BOTH) as profiled:
        host.to("spyre").cpu()
    names = {
        row["name"] for row in rows(trace_events(profiled, tmp_path), "gpu_memcpy")
    }
    assert names == {"copy host to card", "copy card to host"}


def test_streams_are_lanes_of_their_card(tmp_path: Path) -> None:
    card = torch.spyre.device_count() - 1
    stream = torch.spyre.Stream(card)
    with profile(activities=BOTH) as profiled, torch.spyre.stream(stream):
        x = torch.rand(LARGE, LARGE, device=f"spyre:{card}")
        x @ x
        stream.synchronize()
        torch.spyre.synchronize(card)
    events = trace_events(profiled, tmp_path)
    lanes = {(row["pid"], row["tid"]) for row in rows(events, "kernel")}
    assert lanes == {(card, stream.stream_id)}
    names = {
        (event["pid"], event.get("tid")): event["args"]
        for event in events
        if event.get("ph") == "M" and event["name"] in ("process_name", "thread_name")
    }
    assert "stream" in names[card, stream.stream_id]["name"]


def test_user_ranges_cover_their_kernels_on_the_device(tmp_path: Path) -> None:
    x = torch.rand(LARGE, LARGE, device="spyre")
    with profile(activities=BOTH) as profiled:
        with record_function("outer"):
            x @ x
            with record_function("inner"):
                x @ x
        torch.spyre.synchronize()
    events = trace_events(profiled, tmp_path)
    spans = {row["name"]: row for row in rows(events, "gpu_user_annotation")}
    first, second = sorted(
        (row for row in rows(events, "kernel") if "mm" in row["name"]),
        key=lambda row: row["ts"],
    )

    def covers(span: dict[str, Any], row: dict[str, Any]) -> bool:
        slack = 0.01  # microseconds: the file rounds to nanoseconds
        return (
            span["ts"] - slack <= row["ts"]
            and row["ts"] + row["dur"] <= span["ts"] + span["dur"] + slack
        )

    assert covers(spans["outer"], first) and covers(spans["outer"], second)
    assert covers(spans["inner"], second) and not covers(spans["inner"], first)


def test_nvtx_ranges_are_user_annotations(tmp_path: Path) -> None:
    with profile(activities=BOTH) as profiled, torch.spyre.nvtx.range("a range"):
        torch.rand(4, device="spyre") + 1
    events = trace_events(profiled, tmp_path)
    assert "a range" in {row["name"] for row in rows(events, "user_annotation")}
    assert "a range" in {row["name"] for row in rows(events, "gpu_user_annotation")}


def test_start_and_stop_by_hand(tmp_path: Path) -> None:
    torch.spyre.profiler.start()
    with pytest.raises(RuntimeError, match="running already"):
        torch.spyre.profiler.start()
    torch.rand(4, device="spyre") + 1
    stopped = torch.spyre.profiler.stop()
    assert device_time(stopped, "aten::add") > 0
    assert rows(trace_events(stopped, tmp_path), "kernel")
    with pytest.raises(RuntimeError, match="not running"):
        torch.spyre.profiler.stop()
    with torch.spyre.profiler.profile() as profiled:
        torch.rand(4, device="spyre") * 2
    assert device_time(profiled, "aten::mul") > 0


def test_schedule_records_the_active_steps_only() -> None:
    counts = []

    def on_ready(profiled: profile) -> None:
        counts.append(
            sum(
                row.count
                for row in profiled.key_averages()
                if row.key == "a step" and row.device_type == DeviceType.CPU
            )
        )
        assert device_time(profiled, "aten::add") > 0

    x = torch.rand(4, device="spyre")
    plan = schedule(wait=1, warmup=1, active=2, repeat=2)
    with profile(activities=BOTH, schedule=plan, on_trace_ready=on_ready) as profiled:
        for _ in range(8):
            with record_function("a step"):
                x + 1
            profiled.step()
    assert counts == [2, 2]


def test_second_profile_does_not_see_the_first() -> None:
    x = torch.rand(4, device="spyre")
    with profile(activities=BOTH):
        x + 1
    with profile(activities=BOTH) as second:
        x * 2
    assert device_time(second, "aten::mul") > 0
    assert device_time(second, "aten::add") == 0


def test_cpu_only_profile_has_no_device_rows(tmp_path: Path) -> None:
    x = torch.rand(4, device="spyre")
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        x + 1
    events = trace_events(profiled, tmp_path)
    assert not rows(events, "kernel") and not rows(events, "privateuse1_runtime")


def test_device_only_profile_has_device_rows(tmp_path: Path) -> None:
    x = torch.rand(4, device="spyre")
    with profile(activities=[ProfilerActivity.PrivateUse1]) as profiled:
        x + 1
    events = trace_events(profiled, tmp_path)
    assert [row for row in rows(events, "kernel") if "add" in row["name"]]
    assert not rows(events, "cpu_op")


def test_backward_kernels_belong_to_backward_operators() -> None:
    x = torch.rand(LARGE, LARGE, device="spyre", requires_grad=True)
    with profile(activities=BOTH) as profiled:
        (x @ x).sum().backward()
        torch.spyre.synchronize()
    names = [row.key for row in profiled.key_averages()]
    assert any("MmBackward0" in name for name in names)
    mm = next(row for row in profiled.key_averages() if row.key == "aten::mm")
    assert mm.count >= 3 and mm.self_device_time_total > 0


def test_profile_inside_a_profile_records_and_leaves_the_profiler_usable() -> None:
    x = torch.rand(4, device="spyre")
    with profile(activities=BOTH), profile(activities=BOTH) as inner:
        x * 2
    assert device_time(inner, "aten::mul") > 0
    with profile(activities=BOTH) as after:
        x + 1
    assert device_time(after, "aten::add") > 0


def test_memory_shows_per_operator_and_in_the_timeline(tmp_path: Path) -> None:
    with profile(
        activities=BOTH, profile_memory=True, record_shapes=True, with_stack=True
    ) as profiled:
        x = torch.empty(1 << 20, device="spyre")
        x.add_(1)
        del x
    empty = next(row for row in profiled.key_averages() if row.key == "aten::empty")
    assert empty.self_device_memory_usage == 4 << 20
    path = tmp_path / "memory.json"
    profiled.export_memory_timeline(str(path), device="spyre:0")
    _times, sizes = json.loads(path.read_text())
    assert max(sum(step) for step in sizes) >= 4 << 20


def test_launches_of_many_threads_belong_to_their_own_operators(tmp_path: Path) -> None:
    import threading

    x = torch.rand(8, device="spyre")
    torch.spyre.synchronize()
    config = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)

    def work() -> None:
        for _ in range(50):
            x + 1

    with profile(activities=BOTH, experimental_config=config) as profiled:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        torch.spyre.synchronize()
    events = trace_events(profiled, tmp_path)
    operators = {row["args"]["External id"]: row for row in rows(events, "cpu_op")}
    launches = rows(events, "privateuse1_runtime")
    assert len(launches) == 200
    for launch in launches:
        operator = operators[launch["args"]["External id"]]
        assert operator["name"] == "aten::add" and operator["tid"] == launch["tid"]


def test_graph_replay_shows_its_kernels_once(tmp_path: Path) -> None:
    x = torch.zeros(LARGE, LARGE, device="spyre")
    graph = torch.spyre.SpyreGraph()
    with torch.spyre.graph(graph):
        x.add_(1)
    with profile(activities=BOTH) as profiled:
        graph.replay()
        torch.spyre.synchronize()
    kernels = rows(trace_events(profiled, tmp_path), "kernel")
    assert [row["name"] for row in kernels] == ["aten::add.out"]
    assert kernels[0]["args"]["engine"] == "compute"


def compiled_rows(rows_of: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows(rows_of, "kernel") if "graph" in row["args"]]


@pytest.mark.parametrize("size", [8, 512], ids=["inline", "queued"])
def test_a_compiled_graph_is_one_row_per_kernel(tmp_path: Path, size: int) -> None:
    """A softmax, an extern product and a second kernel; rows of one stream do not overlap."""
    w = torch.rand(size, size, device="spyre")
    graph = torch.compile(lambda x: (x.softmax(-1) @ w).relu().sum(-1), backend="spyre")
    x = torch.rand(size, size, device="spyre")
    graph(x)
    torch.spyre.synchronize()
    with profile(activities=BOTH) as profiled:
        graph(x)
        torch.spyre.synchronize()
    parts = sorted(
        compiled_rows(trace_events(profiled, tmp_path)), key=lambda row: row["ts"]
    )
    names = [row["name"] for row in parts]
    assert len(names) == len(set(names)) == 3 and "aten::mm" in names[1]
    assert len({row["args"]["graph"] for row in parts}) == 1
    assert len({row["args"]["correlation"] for row in parts}) == 1
    for before, after in itertools.pairwise(parts):
        assert before["ts"] + before["dur"] <= after["ts"] + 1e-3


def test_threads_that_share_a_kernel_have_lanes(tmp_path: Path) -> None:
    graph = torch.compile(lambda x: torch.sin(x) * 2, backend="spyre")
    x = torch.rand(1 << 22, device="spyre")
    graph(x)
    torch.spyre.synchronize()
    with profile(activities=BOTH) as profiled:
        graph(x)
        torch.spyre.synchronize()
    events = trace_events(profiled, tmp_path)
    (kernel,) = compiled_rows(events)
    pieces = [
        row
        for row in rows(events, "gpu_user_annotation")
        if row["name"] == "virtual cores"
    ]
    if _C.team_size() > 1:
        cores = sorted(
            (p["args"]["first core"], p["args"]["last core"]) for p in pieces
        )
        assert cores[0][0] == 0 and cores[-1][1] == 31
        assert all(a[1] + 1 == b[0] for a, b in itertools.pairwise(cores))
    assert all(piece["args"]["kernel"] == kernel["name"] for piece in pieces)
    assert all(piece["tid"] != kernel["tid"] for piece in pieces)
    table = {row.key: row for row in profiled.key_averages()}
    assert table[kernel["name"]].count == 1
