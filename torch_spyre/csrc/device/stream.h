// Streams: FIFO queues of work that a card's engines multiplex.
//
// Thread safety: every function may be called from any thread. After a fork the child must not call
// any of these; they return kForked.
// Note [Inline execution]: waking a thread costs 5-90 us, so small work may run on the calling
// thread while its stream is idle: see may_run_inline() and engine_is_attentive(). Note [Calls from
// an engine thread]: work that runs may call back. For its own stream it is the work before it that
// counts: may_run_inline() says yes, synchronize() returns at once. Waiting there for anything else
// that is pending would deadlock and returns kInvalidArgument.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "status.h"
#include "work.h"

namespace spyre::device {

using StreamId = std::int64_t;
inline constexpr StreamId kDefaultStream = 0;

struct StreamRef {
  int device = 0;
  StreamId id = kDefaultStream;
  bool operator==(const StreamRef&) const = default;
};

// Lower is served first; values outside are clamped. Priorities order ready work, nothing is
// interrupted.
inline constexpr int kHighestPriority = -3;
inline constexpr int kLowestPriority = 0;

// Takes a stream from the card's pool (32 per priority, round robin).
StreamRef stream_from_pool(int device, int priority);
// Makes a stream of its own; destroy_stream() waits for it. Use after that returns
// kInvalidArgument. id is -1 (not a stream) for an invalid device, after a fork, and beyond 16384
// live streams.
StreamRef create_stream(int device, int priority);
Status destroy_stream(StreamRef stream);
int stream_priority(StreamRef stream);
bool is_stream(StreamRef stream);

// Appends work and returns at once; blocks only while the card's queue is full (4096 entries).
// Returns the stream's pending error instead of queueing. While the stream captures, the work
// goes to the graph. With SPYRE_LAUNCH_BLOCKING=1 it waits for the work to finish.
Status enqueue(StreamRef stream, Engine engine, std::unique_ptr<Work> work);

// True when nothing is queued or running on the stream, it is not capturing and has no error.
bool is_idle(StreamRef stream);
// is_idle() or an error: lets the caller run small work itself. On kOk and *inline_ok the caller
// runs its work at once on this thread and nothing else is needed: a later enqueue by this thread
// is ordered after it. On !*inline_ok the caller must enqueue. Cheap: no lock on the idle path.
Status may_run_inline(StreamRef stream, bool* inline_ok);

// For a launch of a few microseconds: true when the card's compute engine is awake, or would stay
// so because the previous such launch was a moment ago. Else a wake costs more than the launch.
bool engine_is_attentive(int device);

Status synchronize(StreamRef stream);    // waits; returns and clears the stream's first error
Status synchronize_device(int device);   // every stream of the card
bool query(StreamRef stream);            // finished, without waiting and without clearing errors
bool has_queued_work(StreamRef stream);  // unlike !query(), whether or not the stream captures

// Called by layer 1 so that waits can release Python's GIL. Both may be null.
void set_wait_hooks(void* (*before)(), void (*after)(void*));

// True in the child of a fork after the parent had used the device.
bool in_bad_fork();

}  // namespace spyre::device
