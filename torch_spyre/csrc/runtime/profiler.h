// How torch.profiler sees the cards. Registered once, when the extension is loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/activity_log.h"

namespace libkineto {
struct CpuTraceBuffer;
struct ITraceActivity;
}  // namespace libkineto

namespace spyre::runtime {

// Converts device::now_ns() to the Unix nanoseconds of a trace. Two clock pairs, taken when the
// recording began and ended, cancel the drift between the two clocks.
struct ClockPair {
  std::int64_t steady_ns = 0, unix_ns = 0;
  static ClockPair now();
};
struct TraceClock {
  ClockPair begin, end;
  std::int64_t to_unix(std::int64_t steady_ns) const;
};

// The row of a card's threads in the trace; above all stream ids, which come first.
constexpr std::int32_t kFirstLane = 1 << 24;
inline std::int32_t lane_of(std::int32_t thread_id) { return kFirstLane + thread_id; }

// The trace rows of a recording: launches on host threads, runs and user ranges on the cards'
// streams. `operator_activity` gives the profiler's row of an operator or range id, null when it
// has none. Rows that do not touch [begin_ns, end_ns] (Unix time) are left out.
std::unique_ptr<libkineto::CpuTraceBuffer> trace_rows(
    const ActivityRecords& records, const TraceClock& clock, std::int64_t begin_ns,
    std::int64_t end_ns,
    const std::function<const libkineto::ITraceActivity*(std::int32_t)>& operator_activity);

void register_activity_profiler();  // torch.profiler: ProfilerActivity.PrivateUse1
void register_profiler_stubs();     // autograd.profiler with use_kineto=False, and marker mode

}  // namespace spyre::runtime
