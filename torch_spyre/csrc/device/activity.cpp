#include "activity.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

namespace spyre::device {
namespace {

std::atomic<ActivitySink> current_sink{nullptr};
std::atomic<LaunchSink> current_launch_sink{nullptr};
std::atomic<std::uint64_t> correlations{0};
thread_local std::vector<ActivityPart> parts;

// Parts overlap where the next kernel does not wait for the last threads of the one before; rows of
// one stream must not, so that their times add up to that of the whole.
void report_parts(const Activity& whole, ActivitySink sink) {
  std::int64_t free_from_ns = whole.started_ns;
  for (ActivityPart& part : parts) {
    if (part.started_ns < whole.started_ns) continue;  // of work that nobody reported
    Activity activity = whole;
    activity.name = std::move(part.name);
    activity.graph = whole.name;
    activity.started_ns = std::min(std::max(part.started_ns, free_from_ns), part.finished_ns);
    activity.finished_ns = free_from_ns = std::max(part.finished_ns, free_from_ns);
    activity.pieces = std::move(part.pieces);
    sink(activity);
  }
  parts.clear();
}

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
  ActivitySink sink = current_sink.load(std::memory_order_acquire);
  if (sink == nullptr) return;
  const bool in_parts = std::any_of(parts.begin(), parts.end(), [&](const ActivityPart& part) {
    return part.started_ns >= activity.started_ns;
  });
  if (in_parts) {
    report_parts(activity, sink);
  } else {
    parts.clear();
    sink(activity);
  }
}

void add_activity_part(ActivityPart part) { parts.push_back(std::move(part)); }

std::int32_t current_thread_id() {
  thread_local const auto id = static_cast<std::int32_t>(::syscall(SYS_gettid));
  return id;
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
