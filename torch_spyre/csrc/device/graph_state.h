// What a graph holds. Internal to layer 0.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "graph.h"
#include "work.h"

namespace spyre::device {

struct Card;
struct StreamState;

struct CapturedWork {
  Engine engine = Engine::kCompute;
  std::unique_ptr<Work> work;
};
using CapturedWorks = std::vector<CapturedWork>;

// How much of every branch of a capture something comes after: a count of works per branch.
using BranchCounts = std::vector<std::uint64_t>;

// A stream's part of a capture.
struct Branch {
  StreamState* stream = nullptr;
  BranchCounts after;  // of its last work; its own entry counts its works
};

// Lock order: card, then graph.
struct Graph::State {
  std::atomic<bool> capturing{false};
  std::mutex mutex;  // guards the rest
  MempoolId pool{0, 0};
  CaptureMode mode = CaptureMode::kGlobal;
  std::thread::id thread;                // that began the capture
  std::string invalid;                   // why it failed; empty: it did not
  std::shared_ptr<CapturedWorks> works;  // constant after capture_end()
  std::vector<Branch> branches;          // [0] is the captured stream, others joined by events

  // Need the mutex.
  Branch& branch_of(const StreamState& stream);
  Status invalid_status(const char* call) const;  // kCaptureInvalidated, or ok
  bool has_unjoined_work() const;
};

// All need the mutex of the stream's card, and the stream captures (join: will).
void join_capture(StreamState& stream, const std::shared_ptr<Graph::State>& graph);
Status capture_work(StreamState& stream, Engine engine, std::unique_ptr<Work> work);
// An event that is recorded now comes after this much.
BranchCounts capture_position(const StreamState& stream);
// Later work of the stream comes after `position` as well.
void capture_wait(StreamState& stream, const BranchCounts& position);
// Makes the capture invalid and returns the error. Without its mutex.
Status fail_capture(Graph::State& graph, Status error);

// Every capture with a stream of this card becomes invalid.
void invalidate_captures_of(const Card& card, const std::string& reason);
// The list of captures that are underway.
void remember_capture(std::shared_ptr<Graph::State> graph);
void forget_capture(const Graph::State* graph);

}  // namespace spyre::device
