// The engine threads of the cards. Internal to layer 0.
#pragma once
#include "card.h"

namespace spyre::device {

// Starts the engine's thread when it does not run yet. Without the card's mutex held.
Status start_engine(Card& card, Engine engine);

// For upkeep of layer 0: never blocks, raises no error. Drops the work when the stream has an
// error, captures or was destroyed.
void enqueue_if_open(StreamRef stream, Engine engine, std::unique_ptr<Work> work);

// True on a thread that runs queued work of any card.
bool on_engine_thread();
// The stream whose work the calling thread runs; null elsewhere.
StreamState* running_stream();
// The launch that the calling thread's work came from (activity.h); 0 without a profiler.
std::uint64_t running_correlation();

// True once the process has begun to exit: nothing that is queued will run any more.
bool engines_stopped();

}  // namespace spyre::device
