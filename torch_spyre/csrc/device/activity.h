// What the engines did: one record per piece of work, for the profiler.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "stream.h"

namespace spyre::device {

// What one host thread ran of a kernel: virtual cores [first_core, last_core).
struct CorePiece {
  std::int32_t thread_id = 0;  // the kernel's id of the thread
  std::int32_t first_core = 0, last_core = 0;
  std::int64_t started_ns = 0, finished_ns = 0;
};

struct Activity {
  std::string name;
  StreamRef stream;
  Engine engine = Engine::kCompute;
  bool inline_run = false;        // ran on the calling thread
  std::uint64_t correlation = 0;  // value of next_correlation() at enqueue
  std::int64_t enqueued_ns = 0, started_ns = 0, finished_ns = 0;  // steady clock
  std::string graph;              // of a part: name of the work that it belongs to
  std::vector<CorePiece> pieces;  // of a kernel that threads shared
};

// The host's side of it: the call that queued the work, or ran it itself.
struct Launch {
  std::uint64_t correlation = 0;  // that of the Activity
  Engine engine = Engine::kCompute;
  bool inline_run = false;
  std::int64_t begin_ns = 0, end_ns = 0;
};

using ActivitySink = void (*)(const Activity&);
using LaunchSink = void (*)(const Launch&);
// `sink` is called on engine threads and for inline runs, `launches` on the launching thread. Null
// turns recording off.
void set_activity_sink(ActivitySink sink, LaunchSink launches = nullptr);
bool activity_enabled();  // one relaxed load
std::uint64_t next_correlation();
std::int64_t now_ns();
void report_launch(const Launch& launch);
void report_activity(const Activity& activity);  // for work that ran inline: its launch as well

// Note [Parts]: work that consists of several kernels and operators adds each as a part, on the
// thread that runs the work, which reports the whole afterwards: the profiler then gets the parts
// instead of the whole. Only while activity_enabled().
struct ActivityPart {
  std::string name;
  std::int64_t started_ns = 0, finished_ns = 0;
  std::vector<CorePiece> pieces;
};
void add_activity_part(ActivityPart part);
std::int32_t current_thread_id();

// Reports work that the calling thread runs itself, from construction to destruction. Off, it costs
// the one load. `name` must outlive it.
class InlineActivity {
 public:
  InlineActivity(StreamRef stream, Engine engine, const char* name)
      : stream_(stream),
        engine_(engine),
        name_(name),
        started_ns_(activity_enabled() ? now_ns() : 0) {}
  ~InlineActivity() {
    if (started_ns_ != 0) [[unlikely]]
      report();
  }
  InlineActivity(const InlineActivity&) = delete;
  InlineActivity& operator=(const InlineActivity&) = delete;

 private:
  void report() const;
  StreamRef stream_;
  Engine engine_;
  const char* name_;
  std::int64_t started_ns_;
};

}  // namespace spyre::device
