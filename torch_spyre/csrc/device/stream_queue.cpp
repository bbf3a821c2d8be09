#include "stream_queue.h"

#include <utility>

#include "activity.h"
#include "blocking_wait.h"
#include "executor.h"
#include "futex.h"
#include "options.h"

namespace spyre::device {
namespace {

// False when the record is complete; else the stream is released by its completion.
bool wait_for_record(Record& record, StreamState& stream) {
  std::lock_guard lock(record.mutex);
  if (record.done.load(std::memory_order_relaxed)) return false;
  record.waiting.push_back(&stream);
  return true;
}

void pass_on_error(StreamState& stream, const Record& record) {
  if (record.error != nullptr) set_error(stream, record.error);
}

void make_ready(StreamState& stream, Engine engine, Aftermath& after) {
  const int index = static_cast<int>(engine);
  EngineQueue& queue = stream.card->engines[index];
  queue.ready[stream.priority - kHighestPriority].push_back(&stream);
  queue.ready_count.fetch_add(1, std::memory_order_release);
  if (queue.sleeping) {
    queue.sleeping = false;  // one wake per sleep
    queue.signal.fetch_add(1, std::memory_order_release);
    after.wake_engine[index] = true;
  }
}

// The streams whose head waited for `record`, possibly on other cards, take their next step.
void release_waiting(Record& record, std::vector<std::shared_ptr<Record>>& more) {
  std::vector<StreamState*> waiting;
  {
    std::lock_guard lock(record.mutex);
    waiting.swap(record.waiting);
  }
  for (StreamState* stream : waiting) {
    Aftermath after;
    {
      std::lock_guard lock(stream->card->mutex);
      advance(*stream, after);
    }
    for (auto& completed : after.completed) more.push_back(std::move(completed));
    after.completed.clear();
    deliver(*stream->card, after);
  }
}

}  // namespace

bool complete_record(Record& record, std::shared_ptr<const Status> error) {
  std::lock_guard lock(record.mutex);
  if (record.done.load(std::memory_order_relaxed)) return false;
  record.error = std::move(error);
  if (record.timing) record.time_ns = now_ns();
  record.done.store(true, std::memory_order_release);
  return true;
}

void push_item(StreamState& stream, Item item, std::unique_lock<std::mutex>& lock,
               Aftermath& after) {
  Card& card = *stream.card;
  const auto limit = static_cast<std::uint32_t>(options().queue_limit);
  if (card.queued.load(std::memory_order_relaxed) >= limit && !on_engine_thread()) {
    // No deadlock: a queued wait refers to a record that was queued before it, so the queue drains
    // without help of the threads that block here.
    BlockingWait wait;
    ++card.room_waiters;
    while (card.queued.load(std::memory_order_relaxed) >= limit && !engines_stopped()) {
      const std::uint32_t seen = card.room.load(std::memory_order_relaxed);
      lock.unlock();
      wait.begin();
      futex_wait(card.room, seen);
      lock.lock();
    }
    --card.room_waiters;
    lock.unlock();  // the hook may wait for Python's GIL, whose holder may want this lock
    wait.end();
    lock.lock();
  }
  append_item(stream, std::move(item), after);
}

void append_item(StreamState& stream, Item item, Aftermath& after) {
  Card& card = *stream.card;
  ++stream.enqueued;
  if (item.kind == Item::Kind::kRecord) item.record->position = stream.enqueued;
  stream.word.fetch_add(1, std::memory_order_relaxed);
  card.queued.fetch_add(1, std::memory_order_relaxed);
  stream.queue.push_back(std::move(item));
  if (!stream.scheduled) advance(stream, after);
}

void complete_item(StreamState& stream, Aftermath& after) {
  Card& card = *stream.card;
  const std::uint64_t done = stream.completed.load(std::memory_order_relaxed) + 1;
  stream.completed.store(done, std::memory_order_release);
  if (stream.raised && done >= stream.skip_until) {
    stream.error.reset();
    stream.raised = false;
  }
  stream.word.fetch_sub(1, std::memory_order_release);
  const std::uint32_t left = card.queued.fetch_sub(1, std::memory_order_release) - 1;
  // Wake blocked producers in batches: one wake per entry would cost more than the entries.
  if (card.room_waiters > 0 && left <= options().queue_limit / 4 * 3) {
    card.room.fetch_add(1, std::memory_order_release);
    after.wake_room = true;
  }
  if (done >= stream.wake_at) {
    stream.wake_at = StreamState::kNoWaiter;
    stream.progress.fetch_add(1, std::memory_order_release);
    after.progressed.push_back(&stream);
  }
}

void advance(StreamState& stream, Aftermath& after) {
  stream.scheduled = false;
  while (!stream.queue.empty()) {
    Item& head = stream.queue.front();
    if (head.kind == Item::Kind::kWork) {
      stream.scheduled = true;
      make_ready(stream, head.engine, after);
      return;
    }
    const std::shared_ptr<Record> record = head.record;
    if (head.kind == Item::Kind::kRecord) {
      complete_record(*record, stream.error_at(record->position));
      after.completed.push_back(record);
    } else {
      if (wait_for_record(*record, stream)) {
        stream.scheduled = true;
        return;
      }
      pass_on_error(stream, *record);
    }
    stream.queue.pop_front();
    complete_item(stream, after);
  }
}

StreamState* pop_ready(EngineQueue& queue) {
  for (std::deque<StreamState*>& level : queue.ready) {
    if (level.empty()) continue;
    StreamState* stream = level.front();
    level.pop_front();
    queue.ready_count.fetch_sub(1, std::memory_order_relaxed);
    return stream;
  }
  return nullptr;
}

void set_error(StreamState& stream, std::shared_ptr<const Status> error) {
  const std::uint64_t position = stream.completed.load(std::memory_order_relaxed) + 1;
  if (stream.error_at(position) != nullptr) return;
  stream.error = std::move(error);
  stream.raised = false;
  stream.word.fetch_or(StreamState::kHasError, std::memory_order_release);
  stream.card->errors.fetch_add(1, std::memory_order_release);
}

Status take_error(StreamState& stream) {
  if (stream.error == nullptr || stream.raised) return Status::ok();
  const Status result = *stream.error;
  stream.skip_until = stream.enqueued;
  if (stream.completed.load(std::memory_order_relaxed) == stream.enqueued) {
    stream.error.reset();
  } else {
    stream.raised = true;  // what is still queued was enqueued in good faith and must not run
  }
  stream.word.fetch_and(~StreamState::kHasError, std::memory_order_release);
  stream.card->errors.fetch_sub(1, std::memory_order_release);
  return result;
}

void deliver(Card& card, Aftermath& after) {
  for (int index = 0; index < kEngineCount; ++index) {
    if (after.wake_engine[index]) futex_wake(card.engines[index].signal, 1);
  }
  for (StreamState* stream : after.progressed) futex_wake(stream->progress);
  if (after.wake_room) futex_wake(card.room);
  // A loop, not recursion: a chain of waits may be as long as the queue.
  while (!after.completed.empty()) {
    std::shared_ptr<Record> record = std::move(after.completed.back());
    after.completed.pop_back();
    release_waiting(*record, after.completed);
  }
}

}  // namespace spyre::device
