#include "activity.h"

#include <atomic>
#include <chrono>

namespace spyre::device {
namespace {

std::atomic<ActivitySink> current_sink{nullptr};
std::atomic<std::uint64_t> correlations{0};

}  // namespace

void set_activity_sink(ActivitySink sink) { current_sink.store(sink, std::memory_order_release); }

bool activity_enabled() { return current_sink.load(std::memory_order_relaxed) != nullptr; }

std::uint64_t next_correlation() {
  return correlations.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void report_activity(const Activity& activity) {
  if (ActivitySink sink = current_sink.load(std::memory_order_acquire)) sink(activity);
}

}  // namespace spyre::device
