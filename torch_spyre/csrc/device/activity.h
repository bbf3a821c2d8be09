// What the engines did: one record per piece of work, for the profiler.
#pragma once
#include <cstdint>
#include <string>

#include "stream.h"

namespace spyre::device {

struct Activity {
  std::string name;
  StreamRef stream;
  Engine engine = Engine::kCompute;
  bool inline_run = false;        // ran on the calling thread
  std::uint64_t correlation = 0;  // value of next_correlation() at enqueue
  std::int64_t enqueued_ns = 0, started_ns = 0, finished_ns = 0;  // steady clock
};

using ActivitySink = void (*)(const Activity&);
void set_activity_sink(ActivitySink sink);  // null turns recording off; called on engine threads
bool activity_enabled();                    // one relaxed load
std::uint64_t next_correlation();
std::int64_t now_ns();
void report_activity(const Activity& activity);  // for work that ran inline

}  // namespace spyre::device
