#include "stream.h"

#include <omp.h>

#include <algorithm>
#include <utility>

#include "activity.h"
#include "executor.h"
#include "fork_guard.h"
#include "graph_state.h"
#include "options.h"
#include "stream_queue.h"
#include "synchronize.h"

namespace spyre::device {
namespace {

constexpr StreamId kNoStream = -1;

int clamped(int priority) { return std::clamp(priority, kHighestPriority, kLowestPriority); }

// The default stream and the pool's are there for good.
constexpr StreamId kFirstOwnStream = 1 + kPriorityLevels * kStreamsPerPriority;

// Note [Teams of two threads]: libgomp counts the workers of all threads' OpenMP teams. Once they
// are more than the host's cores, idle workers sleep at once, and every parallel operator of an
// executor pays a wake: 45 us instead of 10 for 131072 elements. A thread that feeds the card and
// once ran a parallel operator on the CPU holds such a team for ever, so its team is dissolved now
// and then; the next parallel operator on the CPU makes a new one (0.1 ms). Nothing else is lost,
// and without a team the call costs 0.2 us.
constexpr std::uint32_t kLaunchesPerRelease = 64;

void release_idle_team() {
  thread_local std::uint32_t launches = 0;
  if (++launches % kLaunchesPerRelease == 0 && !on_engine_thread()) {
    (void)omp_pause_resource_all(omp_pause_soft);  // refuses inside a parallel region
  }
}

// For a stream that is not simply open: what stops the work, or where it went instead.
Status enqueue_special(StreamState& stream, Engine engine, std::unique_ptr<Work>& work,
                       std::uint64_t word) {
  if ((word & StreamState::kDestroyed) != 0) {
    return Status::error(StatusCode::kInvalidArgument, "the stream was destroyed");
  }
  if ((word & StreamState::kHasError) != 0) return take_error(stream);
  return capture_work(stream, engine, std::move(work));
}

}  // namespace

StreamRef stream_from_pool(int device, int priority) {
  if (forked_after_use()) return {device, kNoStream};
  Card* card = find_card(device);
  if (card == nullptr) return {device, kNoStream};
  const int level = kLowestPriority - clamped(priority);
  std::lock_guard lock(card->mutex);
  const std::uint32_t turn = card->next_pool_stream[level]++ % kStreamsPerPriority;
  return {device, 1 + level * kStreamsPerPriority + static_cast<StreamId>(turn)};
}

StreamRef create_stream(int device, int priority) {
  if (forked_after_use()) return {device, kNoStream};
  Card* card = find_card(device);
  if (card == nullptr) return {device, kNoStream};
  std::lock_guard lock(card->mutex);
  return {device, card->add_stream(clamped(priority))};
}

Status destroy_stream(StreamRef ref) {
  Card* card = nullptr;
  StreamState* stream = nullptr;
  if (Status found = find_stream(ref, &card, &stream); !found.is_ok()) return found;
  if (ref.id < kFirstOwnStream) {
    return Status::error(StatusCode::kInvalidArgument,
                         "destroy_stream: stream " + std::to_string(ref.id) +
                             " belongs to the card; only streams of create_stream() end");
  }
  if (on_engine_thread()) {
    return Status::error(StatusCode::kInvalidArgument,
                         "destroy_stream: not from work that runs on a Spyre engine");
  }
  for (;;) {
    Status status = synchronize(ref);
    std::lock_guard lock(card->mutex);
    const std::uint64_t word = stream->word.load(std::memory_order_relaxed);
    if (word != 0 && status.is_ok()) continue;  // another thread enqueued meanwhile
    if (word != 0) return status;
    stream->word.store(StreamState::kDestroyed, std::memory_order_release);
    card->free_slots.push_back(static_cast<int>(ref.id & (kStreamSlots - 1)));
    return status;
  }
}

int stream_priority(StreamRef ref) {
  Card* card = nullptr;
  StreamState* stream = nullptr;
  return find_stream(ref, &card, &stream).is_ok() ? stream->priority : kLowestPriority;
}

bool is_stream(StreamRef ref) {
  Card* card = nullptr;
  StreamState* stream = nullptr;
  return find_stream(ref, &card, &stream).is_ok();
}

Status enqueue(StreamRef ref, Engine engine, std::unique_ptr<Work> work) {
  Card* card = nullptr;
  StreamState* stream = nullptr;
  if (Status found = find_stream(ref, &card, &stream); !found.is_ok()) return found;
  if (engines_stopped()) return exiting_status();
  if (Status started = start_engine(*card, engine); !started.is_ok()) return started;
  release_idle_team();
  Item item;
  item.engine = engine;
  if (activity_enabled()) {
    item.correlation = next_correlation();
    item.enqueued_ns = now_ns();
  }
  const Launch launch{item.correlation, engine, false, item.enqueued_ns, 0};
  Aftermath after;
  {
    std::unique_lock lock(card->mutex);
    const std::uint64_t word = stream->word.load(std::memory_order_relaxed);
    if ((word & ~StreamState::kPendingMask) != 0) {
      return enqueue_special(*stream, engine, work, word);
    }
    item.work = std::move(work);
    push_item(*stream, std::move(item), lock, after);
  }
  if (!after.empty()) deliver(*card, after);
  if (launch.correlation != 0) {
    report_launch({launch.correlation, engine, false, launch.begin_ns, now_ns()});
  }
  if (options().launch_blocking && !on_engine_thread()) return synchronize(ref);
  return Status::ok();
}

void enqueue_if_open(StreamRef ref, Engine engine, std::unique_ptr<Work> work) {
  Card* card = nullptr;
  StreamState* stream = nullptr;
  if (!find_stream(ref, &card, &stream).is_ok() || engines_stopped()) return;
  if (!start_engine(*card, engine).is_ok()) return;
  Aftermath after;
  {
    std::unique_lock lock(card->mutex);
    if ((stream->word.load(std::memory_order_relaxed) & ~StreamState::kPendingMask) != 0) return;
    Item item;
    item.engine = engine;
    item.work = std::move(work);
    append_item(*stream, std::move(item), after);
  }
  if (!after.empty()) deliver(*card, after);
}

bool is_idle(StreamRef ref) {
  if (forked_after_use()) return false;
  Card* card = find_card(ref.device);
  StreamState* stream = card == nullptr ? nullptr : card->find(ref.id);
  return stream != nullptr && stream->word.load(std::memory_order_acquire) == 0;
}

bool engine_is_attentive(int device) {
  Card* card = find_card(device);
  if (card == nullptr) return false;
  const std::int64_t now = now_ns();
  const std::int64_t last = card->last_small_launch_ns.exchange(now, std::memory_order_relaxed);
  const EngineQueue& queue = card->engines[static_cast<int>(Engine::kCompute)];
  return !queue.sleeping.load(std::memory_order_relaxed) || now - last < Spinner::kLongestNs;
}

Status may_run_inline(StreamRef ref, bool* inline_ok) {
  *inline_ok = true;
  if (is_idle(ref)) return Status::ok();
  *inline_ok = false;
  Card* card = nullptr;
  StreamState* stream = nullptr;
  if (Status found = find_stream(ref, &card, &stream); !found.is_ok()) return found;
  if (running_stream() == stream) {
    *inline_ok = true;
    return Status::ok();
  }
  if ((stream->word.load(std::memory_order_acquire) & StreamState::kHasError) == 0) {
    return Status::ok();
  }
  std::lock_guard lock(card->mutex);
  return take_error(*stream);
}

}  // namespace spyre::device
