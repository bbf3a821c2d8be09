// What a graph holds. Internal to layer 0.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "graph.h"
#include "work.h"

namespace spyre::device {

struct StreamState;

struct CapturedWork {
  Engine engine = Engine::kCompute;
  std::unique_ptr<Work> work;
};
using CapturedWorks = std::vector<CapturedWork>;

// Lock order: card, then graph.
struct Graph::State {
  std::atomic<bool> capturing{false};
  std::mutex mutex;  // guards the rest
  MempoolId pool{0, 0};
  std::shared_ptr<CapturedWorks> works;  // constant after capture_end()
  std::vector<StreamState*> streams;     // the captured stream and those that joined through events
};

// Lets `stream` record into `graph`. Needs the mutex of the stream's card.
void join_capture(StreamState& stream, const std::shared_ptr<Graph::State>& graph);
// Appends to the capture of `stream`. Needs the mutex of the stream's card.
void capture_work(StreamState& stream, Engine engine, std::unique_ptr<Work> work);

}  // namespace spyre::device
