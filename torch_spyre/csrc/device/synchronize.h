// Host threads waiting for a stream to reach a position. Internal to layer 0 but for
// drain_at_exit().
#pragma once
#include <cstdint>

#include "stream_state.h"

namespace spyre::device {

// Spins shortly, then sleeps until `position` items of the stream have finished. Refuses on an
// engine thread, where it would wait for itself, and once the process exits.
Status wait_for_position(StreamState& stream, std::uint64_t position);

// Waits for what is queued on the card now, not for what other threads add meanwhile, for at most
// `timeout_ns`; then gives up with kOk. Returns and clears the first error that work left.
Status drain_at_exit(int device, std::int64_t timeout_ns);

// Waits for everything queued on the card now; leaves errors for the host's own synchronising call.
Status drain_device(int device);

Status capture_status(const char* call);  // kCapture: `call` while a stream captures
Status exiting_status();

}  // namespace spyre::device
