// Stream capture: records work instead of running it, replays it with one enqueue.
#pragma once
#include <memory>

#include "allocator.h"
#include "status.h"
#include "stream.h"

namespace spyre::device {

class Graph {
 public:
  Graph();
  ~Graph();
  // While a stream captures, may_run_inline() says no and every synchronising call returns
  // kCapture.
  Status capture_begin(StreamRef stream, MempoolId pool);
  Status capture_end();
  Status replay(StreamRef stream);  // one entry of the stream, all work in captured order
  void reset();
  MempoolId pool() const;
  struct State;

 private:
  std::shared_ptr<State> state_;
};

bool is_capturing(StreamRef stream);
MempoolId new_mempool_id();

}  // namespace spyre::device
