// Events: a counter and the value captured at record. See Note [Event values] in event.cpp.
#pragma once
#include <cstdint>
#include <memory>

#include "status.h"
#include "stream.h"

namespace spyre::device {

// A copyable handle. A waiter keeps the value that the last record() gave, so a later record() does
// not move an earlier wait. An event that was never recorded is complete.
class Event {
 public:
  explicit Event(int device, bool timing = false);
  Status record(StreamRef stream);      // kInvalidArgument when stream.device != device()
  Status wait(StreamRef stream) const;  // the stream (of any card) waits; host does not
  bool query() const;
  // query() by a user: kCapturedEvent for an event of a capture that is underway, kCapture where
  // refuse_in_capture() says so.
  Status user_query(bool* done) const;
  Status synchronize() const;  // returns the error that the recorded work left
  // Milliseconds between two completed timing events, on the engines' clock.
  static Status elapsed_ms(const Event& start, const Event& end, double* ms);
  int device() const;
  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace spyre::device
