#include "synchronize.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "activity.h"
#include "blocking_wait.h"
#include "card.h"
#include "executor.h"
#include "fork_guard.h"
#include "futex.h"
#include "graph_state.h"
#include "stream_queue.h"
#include "team.h"

namespace spyre::device {
namespace {

bool reached(const StreamState& stream, std::uint64_t position) {
  return stream.completed.load(std::memory_order_acquire) >= position;
}

struct Target {
  StreamState* stream;
  std::uint64_t position;
};

// What the card has to finish: every stream with something pending or an error to raise.
std::vector<Target> targets_of(Card& card) {
  std::vector<Target> targets;
  std::lock_guard lock(card.mutex);
  for (int slot = 0; slot < card.slot_count; ++slot) {
    StreamState* stream = card.slots[slot].load(std::memory_order_relaxed);
    const std::uint64_t word = stream->word.load(std::memory_order_relaxed);
    if ((word & (StreamState::kPendingMask | StreamState::kHasError)) != 0) {
      targets.push_back({stream, stream->enqueued});
    }
  }
  return targets;
}

// The first error of the streams; all of them are taken.
Status take_errors(Card& card, const std::vector<Target>& targets) {
  Status first = Status::ok();
  std::lock_guard lock(card.mutex);
  for (const Target& target : targets) {
    Status error = take_error(*target.stream);
    if (first.is_ok()) first = std::move(error);
  }
  return first;
}

}  // namespace

Status capture_status(const char* call) {
  return Status::error(StatusCode::kCapture, std::string(call) +
                                                 ": operation not permitted when stream is "
                                                 "capturing; end the capture first");
}

Status exiting_status() {
  return Status::error(StatusCode::kExternal, "Spyre is shut down: the process is exiting");
}

Status wait_for_position(StreamState& stream, std::uint64_t position) {
  if (reached(stream, position)) return Status::ok();
  if (on_engine_thread()) {
    return Status::error(StatusCode::kInvalidArgument,
                         "work that runs on a Spyre engine may not wait for queued work: it would "
                         "wait for itself");
  }
  BlockingWait wait;  // ends after the lock is released
  for (bool can_help = true;;) {
    const bool found = stream.card->wait_spin.spin(
        [&] { return reached(stream, position) || (can_help && team_wants_help()); });
    if (reached(stream, position)) return Status::ok();
    if (!found) break;
    wait.begin();  // a kernel may take long, and Python's other threads go on meanwhile
    can_help = help_team(stream.completed, position);
  }
  std::unique_lock lock(stream.card->mutex);
  while (!reached(stream, position)) {
    if (engines_stopped()) return exiting_status();
    stream.wake_at = std::min(stream.wake_at, position);
    const std::uint32_t seen = stream.progress.load(std::memory_order_relaxed);
    lock.unlock();
    wait.begin();
    futex_wait(stream.progress, seen);
    lock.lock();
  }
  return Status::ok();
}

Status drain_device(int device) {
  Card* card = find_card(device);
  if (card == nullptr || card->queued.load(std::memory_order_acquire) == 0) return Status::ok();
  for (const Target& target : targets_of(*card)) {
    Status waited = wait_for_position(*target.stream, target.position);
    if (!waited.is_ok()) return waited;
  }
  return Status::ok();
}

Status synchronize(StreamRef ref) {
  Card* card = nullptr;
  StreamState* stream = nullptr;
  if (Status found = find_stream(ref, &card, &stream); !found.is_ok()) return found;
  const std::uint64_t word = stream->word.load(std::memory_order_acquire);
  if (word == 0 || running_stream() == stream) return Status::ok();
  if ((word & StreamState::kCapturing) != 0) {
    Status status = capture_status("stream synchronize");
    invalidate_capture(ref, status.message);
    return status;
  }
  std::uint64_t position = 0;
  {
    std::lock_guard lock(card->mutex);
    position = stream->enqueued;
  }
  if (Status waited = wait_for_position(*stream, position); !waited.is_ok()) return waited;
  std::lock_guard lock(card->mutex);
  return take_error(*stream);
}

Status synchronize_device(int device) {
  if (forked_after_use()) return forked_status();
  Card* card = find_card(device);
  if (card == nullptr) {
    return Status::error(StatusCode::kInvalidDevice,
                         "invalid device ordinal " + std::to_string(device) + ": there are " +
                             std::to_string(card_count()) + " Spyre cards");
  }
  if (card->captures.load(std::memory_order_acquire) != 0) {
    Status status = capture_status("device synchronize");
    invalidate_captures_of(*card, status.message);
    return status;
  }
  if (card->queued.load(std::memory_order_acquire) == 0 &&
      card->errors.load(std::memory_order_acquire) == 0) {
    return Status::ok();
  }
  const std::vector<Target> targets = targets_of(*card);
  for (const Target& target : targets) {
    if (target.stream == running_stream()) continue;
    Status waited = wait_for_position(*target.stream, target.position);
    if (!waited.is_ok()) return waited;
  }
  return take_errors(*card, targets);
}

Status drain_at_exit(int device, std::int64_t timeout_ns) {
  Card* card = find_card(device);
  if (card == nullptr || forked_after_use()) return Status::ok();
  const std::int64_t deadline_ns = now_ns() + timeout_ns;
  const std::vector<Target> targets = targets_of(*card);
  for (const Target& target : targets) {
    while (!reached(*target.stream, target.position)) {
      if (now_ns() > deadline_ns || engines_stopped()) return Status::ok();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  return take_errors(*card, targets);
}

bool query(StreamRef ref) {
  Card* card = nullptr;
  StreamState* stream = nullptr;
  if (!find_stream(ref, &card, &stream).is_ok()) return true;  // nothing of it can be pending
  const std::uint64_t word = stream->word.load(std::memory_order_acquire);
  return (word & (StreamState::kPendingMask | StreamState::kCapturing)) == 0;
}

bool has_queued_work(StreamRef ref) {
  Card* card = nullptr;
  StreamState* stream = nullptr;
  return find_stream(ref, &card, &stream).is_ok() &&
         (stream->word.load(std::memory_order_acquire) & StreamState::kPendingMask) != 0;
}

}  // namespace spyre::device
