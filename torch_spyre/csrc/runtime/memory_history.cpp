#include "runtime/memory_history.h"

#include <torch/csrc/profiler/combined_traceback.h>

#include <array>
#include <chrono>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "device/properties.h"
#include "runtime/current.h"

namespace spyre::runtime {

namespace {

struct History {
  std::mutex mutex;
  HistoryOptions options;
  std::string user_metadata;
  std::array<std::deque<TraceRecord>, kMaxDevices> traces;
  std::array<std::unordered_map<std::uintptr_t, Stack>, kMaxDevices> live_stacks;
};

History& history() {
  static auto* instance = new History();  // leaked: memory is freed after static destructors
  return *instance;
}

std::int64_t now_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

bool wants_stack(StackPolicy policy, TraceKind kind) {
  switch (kind) {
    case TraceKind::kAlloc:
      return policy >= StackPolicy::kState;
    case TraceKind::kSegmentAlloc:
    case TraceKind::kOom:
      return policy >= StackPolicy::kAlloc;
    default:
      return policy == StackPolicy::kAll;
  }
}

void record(int device, TraceKind kind, std::uintptr_t address, std::size_t nbytes,
            device::StreamId stream) {
  History& all = history();
  HistoryOptions options;
  {
    std::lock_guard lock(all.mutex);
    options = all.options;
  }
  TraceRecord entry{kind, address, nbytes, stream, now_us(), nullptr, {}};
  if (kind == TraceKind::kOom) {
    std::size_t total_bytes = 0;
    device::CachingAllocator::of(device).memory_info(&entry.address, &total_bytes);
  }
  if (wants_stack(options.stacks, kind)) {
    entry.stack = torch::CapturedTraceback::gather(true, true, options.cpp_frames);
  }
  Stack dropped;  // released after the lock: it may take the GIL
  std::lock_guard lock(all.mutex);
  auto& live = all.live_stacks[static_cast<std::size_t>(device)];
  if (kind == TraceKind::kAlloc) {
    live[address] = entry.stack;
  } else if (kind == TraceKind::kFreeCompleted) {
    if (auto found = live.find(address); found != live.end()) {
      dropped = std::move(found->second);
      live.erase(found);
    }
  }
  if (!options.keep_trace || options.skipped.contains(static_cast<int>(kind))) {
    return;
  }
  entry.user_metadata = all.user_metadata;
  auto& trace = all.traces[static_cast<std::size_t>(device)];
  trace.push_back(std::move(entry));
  if (trace.size() > options.max_entries) {
    trace.pop_front();
  }
}

}  // namespace

void start_memory_history(HistoryOptions options, bool clear) {
  History& all = history();
  {
    std::lock_guard lock(all.mutex);
    all.options = std::move(options);
    if (clear) {
      for (auto& trace : all.traces) {
        trace.clear();
      }
    }
  }
  for (int device = 0; device < device::device_count(); ++device) {
    device::CachingAllocator::of(device).set_tracer(
        [device](TraceKind kind, std::uintptr_t address, std::size_t nbytes,
                 device::StreamId stream) { record(device, kind, address, nbytes, stream); });
  }
}

void stop_memory_history() {
  for (int device = 0; device < device::device_count(); ++device) {
    device::CachingAllocator::of(device).set_tracer({});
  }
}

void set_memory_metadata(std::string text) {
  History& all = history();
  std::lock_guard lock(all.mutex);
  all.user_metadata = std::move(text);
}

std::string memory_metadata() {
  History& all = history();
  std::lock_guard lock(all.mutex);
  return all.user_metadata;
}

std::vector<TraceRecord> memory_trace(int device) {
  History& all = history();
  std::lock_guard lock(all.mutex);
  const auto& trace = all.traces[static_cast<std::size_t>(device)];
  return {trace.begin(), trace.end()};
}

Stack stack_of_block(int device, std::uintptr_t address) {
  History& all = history();
  std::lock_guard lock(all.mutex);
  const auto& live = all.live_stacks[static_cast<std::size_t>(device)];
  const auto found = live.find(address);
  return found == live.end() ? nullptr : found->second;
}

}  // namespace spyre::runtime
