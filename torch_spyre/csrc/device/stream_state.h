// What a stream is made of. Internal to layer 0.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "graph.h"
#include "stream.h"
#include "work.h"

namespace spyre::device {

struct Card;
struct StreamState;

// One Event::record(). See Note [Event values] in event.cpp. Lock order: card, then record.
struct Record {
  StreamState* stream = nullptr;
  std::uint64_t position = 0;  // in the stream: complete when so many items are
  bool timing = false;
  std::shared_ptr<Graph::State> graph;  // set when recorded in a capture; never completes then
  std::vector<std::uint64_t> captured_after;  // what of that capture comes before it

  std::atomic<bool> done{false};        // the fields below are constant once it is set
  std::shared_ptr<const Status> error;  // what the work before it left, null when fine
  std::int64_t time_ns = 0;

  std::mutex mutex;
  std::vector<StreamState*> waiting;  // streams whose head waits for this; guarded by mutex
};

// An entry of a stream. Markers (record, wait) are handled by whoever finds them at the head.
struct Item {
  enum class Kind : std::uint8_t { kWork, kRecord, kWait };
  Kind kind = Kind::kWork;
  Engine engine = Engine::kCompute;
  std::unique_ptr<Work> work;
  std::shared_ptr<Record> record;
  std::uint64_t correlation = 0;  // 0: no profiler at enqueue
  std::int64_t enqueued_ns = 0;
};

// Never freed: a destroyed stream's state is used again under a new id. All fields but the atomics
// are guarded by the card's mutex.
struct StreamState {
  // Low 32 bits: items queued or running. Zero as a whole: idle, healthy, not capturing, alive.
  static constexpr std::uint64_t kPendingMask = 0xffff'ffff;
  static constexpr std::uint64_t kCapturing = std::uint64_t{1} << 40;
  static constexpr std::uint64_t kHasError = std::uint64_t{1} << 41;
  static constexpr std::uint64_t kDestroyed = std::uint64_t{1} << 42;
  static constexpr std::uint64_t kNoWaiter = ~std::uint64_t{0};

  explicit StreamState(Card* owner) : card(owner) {}

  Card* const card;
  std::atomic<StreamId> id{-1};
  int priority = 0;
  std::atomic<std::uint64_t> word{0};

  std::deque<Item> queue;
  bool scheduled = false;  // its head is running, in a ready list, or waits for a record
  std::uint64_t enqueued = 0;
  std::atomic<std::uint64_t> completed{0};

  std::uint64_t wake_at = kNoWaiter;       // lowest position a sleeping host thread waits for
  std::atomic<std::uint32_t> progress{0};  // futex word of those threads

  std::shared_ptr<const Status> error;  // first error
  bool raised = false;                  // given to the host; items up to skip_until still skip
  std::uint64_t skip_until = 0;

  std::shared_ptr<Graph::State> capture;

  // The error that the item at `position` must not run behind; null when it may run.
  std::shared_ptr<const Status> error_at(std::uint64_t position) const {
    return error != nullptr && (!raised || position <= skip_until) ? error : nullptr;
  }
};

}  // namespace spyre::device
