// What happened on the cards while a profiler recorded: the runs that layer 0 reports, the launches
// that the host made, and which operator and user range each launch belongs to.
//
// Thread safety: every function may be called from any thread. Off, nothing is stored and the only
// cost is layer 0's relaxed load.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "device/activity.h"

namespace spyre::runtime {

struct LaunchRecord {
  std::uint64_t correlation = 0;  // that of the Activity it started
  std::uint64_t operator_id = 0;  // innermost operator of the launching thread, 0 for none
  std::uint64_t range_id = 0;     // innermost user range of the launching thread, 0 for none
  std::int32_t thread_id = 0;     // kernel's id of the launching thread
  device::Engine engine = device::Engine::kCompute;
  bool inline_run = false;
  std::int64_t begin_ns = 0, end_ns = 0;  // device::now_ns()
};

struct ActivityRecords {
  std::vector<device::Activity> runs;
  std::vector<LaunchRecord> launches;
  std::unordered_map<std::uint64_t, std::uint64_t> range_parents;  // user range -> enclosing one
};

// Drops what an earlier recording left and begins a new one.
void start_activity_log();
// Ends the recording and gives what it collected. Work that finishes later is not in it.
ActivityRecords stop_activity_log();

// The calling thread enters or leaves an operator or user range, by the profiler's ids. A leave
// without an enter (the recording began inside) is ignored.
void enter_operator(std::uint64_t id);
void leave_operator();
void enter_range(std::uint64_t id);
void leave_range();

}  // namespace spyre::runtime
