// Stream capture: records work instead of running it, replays it with one enqueue.
#pragma once
#include <memory>
#include <string>

#include "allocator.h"
#include "status.h"
#include "stream.h"

namespace spyre::device {

// Note [Errors of captures]: a call that a capture forbids, and every error of its work, makes the
// capture invalid: later calls that concern it return kCaptureInvalidated with the first reason,
// capture_end() too, and the streams are usable again after it. As in CUDA's runtime.
enum class CaptureMode {
  kGlobal,       // refuse_in_capture() fails on every thread
  kThreadLocal,  // ... on the capturing thread
  kRelaxed,      // ... nowhere, and any thread may end the capture
};

class Graph {
 public:
  Graph();
  ~Graph();
  // While a stream captures, may_run_inline() says no and every synchronising call returns
  // kCapture. kIllegalState when the stream captures already.
  Status capture_begin(StreamRef stream, MempoolId pool, CaptureMode mode = CaptureMode::kGlobal);
  // kCaptureUnjoined when a stream that joined holds work that the captured stream does not wait
  // for. The capture is over, and the graph empty, after any error but kCaptureWrongThread.
  Status capture_end();
  Status replay(StreamRef stream);  // one entry of the stream, all work in captured order
  void reset();
  MempoolId pool() const;
  struct State;

 private:
  void end_capture(bool keep);
  std::shared_ptr<State> state_;
};

bool is_capturing(StreamRef stream);
// Makes the stream's capture invalid, if it captures.
void invalidate_capture(StreamRef stream, const std::string& reason);
// kCapture, and the capture becomes invalid, when a capture forbids `call` on this thread.
Status refuse_in_capture(const char* call);
MempoolId new_mempool_id();

}  // namespace spyre::device
