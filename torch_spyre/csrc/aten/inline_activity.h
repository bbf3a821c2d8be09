// The profiler's record of work that ran on the calling thread.
#pragma once
#include <string>
#include <string_view>

#include "device/activity.h"
#include "device/stream.h"

namespace spyre::aten {

// Reports its own lifetime while recording is on; otherwise one relaxed load.
class InlineActivity {
 public:
  InlineActivity(std::string_view name, device::StreamRef stream)
      : started_ns_(device::activity_enabled() ? device::now_ns() : 0) {
    if (started_ns_ != 0) {
      activity_.name = name;
      activity_.stream = stream;
    }
  }
  ~InlineActivity() {
    if (started_ns_ == 0) {
      return;
    }
    activity_.inline_run = true;
    activity_.correlation = device::next_correlation();
    activity_.enqueued_ns = activity_.started_ns = started_ns_;
    activity_.finished_ns = device::now_ns();
    device::report_activity(activity_);
  }
  InlineActivity(const InlineActivity&) = delete;
  InlineActivity& operator=(const InlineActivity&) = delete;

 private:
  std::int64_t started_ns_;
  device::Activity activity_;
};

}  // namespace spyre::aten
