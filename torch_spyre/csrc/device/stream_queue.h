// Moves items through streams: push, make ready, complete. Internal to layer 0.
//
// Every function needs the mutex of the stream's card. What must happen without it (futex wakes,
// streams of other cards that were released) is collected in Aftermath and done by deliver().
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "card.h"

namespace spyre::device {

struct Aftermath {
  bool wake_engine[kEngineCount] = {false, false};
  bool wake_room = false;
  std::vector<StreamState*> progressed;            // host threads sleep on these
  std::vector<std::shared_ptr<Record>> completed;  // their waiting streams may go on
  bool empty() const {
    return !wake_engine[0] && !wake_engine[1] && !wake_room && progressed.empty() &&
           completed.empty();
  }
};

// Appends work; blocks while the card's queue is full, except on an engine thread. The lock is
// given up while it blocks.
void push_item(StreamState& stream, Item item, std::unique_lock<std::mutex>& lock,
               Aftermath& after);

// The same without the bound: for markers and upkeep. They are recorded under locks (allocators)
// that running work may need, so they must not wait for room.
void append_item(StreamState& stream, Item item, Aftermath& after);

// Counts the head, already taken off the queue, as finished.
void complete_item(StreamState& stream, Aftermath& after);

// Handles markers at the head, then hands the stream to the engine of its next work.
void advance(StreamState& stream, Aftermath& after);

// Makes a record complete; false when it was already. Needs no card's mutex. Its waiting streams go
// on once it is in an Aftermath that is delivered.
bool complete_record(Record& record, std::shared_ptr<const Status> error);

// Takes a ready stream by priority; null when there is none.
StreamState* pop_ready(EngineQueue& queue);

// Keeps the first error of the stream.
void set_error(StreamState& stream, std::shared_ptr<const Status> error);
// Returns the error that was not raised yet and counts it as raised.
Status take_error(StreamState& stream);

// Without any lock held. `card` is the one whose mutex was held.
void deliver(Card& card, Aftermath& after);

}  // namespace spyre::device
