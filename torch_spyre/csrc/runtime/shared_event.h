// Events that several processes use: counters in a shared segment.
//
// Each record takes the next number and, in stream order, marks it as reached; a wait keeps the
// number of the last record before it. Thread safety: every function may be called from any thread.
#pragma once
#include <cstdint>
#include <memory>

#include "device/stream.h"
#include "runtime/shared_segment.h"

namespace spyre::runtime {

class SharedEvent {
 public:
  SharedEvent();                                     // of this process; throws without memory
  explicit SharedEvent(const SharedHandle& handle);  // of another; throws when its owner has ended

  // Any process that holds the event may record it.
  void record(device::StreamRef stream) const;
  // Later work of the stream waits; the host does not, and no engine is occupied.
  void wait(device::StreamRef stream) const;
  bool query() const;
  // Throws RuntimeError when the process that recorded the event ended before its work did.
  void synchronize() const;
  SharedHandle handle() const { return segment_->handle(); }

 private:
  struct Counters;
  Counters& counters() const;
  SharedSegmentPtr segment_;
};

}  // namespace spyre::runtime
