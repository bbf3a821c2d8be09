#include "activity.h"

#include <atomic>
#include <chrono>

namespace spyre::device {
namespace {

std::atomic<ActivitySink> current_sink{nullptr};
std::atomic<LaunchSink> current_launch_sink{nullptr};
std::atomic<std::uint64_t> correlations{0};

}  // namespace

void set_activity_sink(ActivitySink sink, LaunchSink launches) {
  current_launch_sink.store(launches, std::memory_order_release);
  current_sink.store(sink, std::memory_order_release);
}

bool activity_enabled() { return current_sink.load(std::memory_order_relaxed) != nullptr; }

std::uint64_t next_correlation() {
  return correlations.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void report_launch(const Launch& launch) {
  if (LaunchSink sink = current_launch_sink.load(std::memory_order_acquire)) sink(launch);
}

void report_activity(const Activity& activity) {
  if (activity.inline_run) {
    report_launch(
        {activity.correlation, activity.engine, true, activity.enqueued_ns, activity.finished_ns});
  }
  if (ActivitySink sink = current_sink.load(std::memory_order_acquire)) sink(activity);
}

void InlineActivity::report() const {
  Activity activity;
  activity.name = name_;
  activity.stream = stream_;
  activity.engine = engine_;
  activity.inline_run = true;
  activity.correlation = next_correlation();
  activity.enqueued_ns = activity.started_ns = started_ns_;
  activity.finished_ns = now_ns();
  report_activity(activity);
}

}  // namespace spyre::device
