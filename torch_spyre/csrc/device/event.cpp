// Note [Event values]: an event is a counter of records; a waiter captures its value. The value of
// one record() is an object of its own, Record: the place in the recording stream that must be
// passed. A later record() gives the event another Record and does not move earlier waiters, and an
// event that is recorded on two streams cannot complete an older value early.
#include "event.h"

#include <utility>

#include "activity.h"
#include "fork_guard.h"
#include "graph_state.h"
#include "stream_queue.h"
#include "synchronize.h"

namespace spyre::device {

struct Event::State {
  int device = 0;
  bool timing = false;
  std::mutex mutex;
  std::shared_ptr<Record> last;

  std::shared_ptr<Record> captured() {
    std::lock_guard lock(mutex);
    return last;
  }
};

namespace {

bool in_capture(const Record& record) {
  return record.graph != nullptr && record.graph->capturing.load(std::memory_order_acquire);
}

// An event that was recorded in a capture makes the waiting stream part of the capture.
Status wait_in_capture(StreamState& stream, const Record& record) {
  if (!in_capture(record)) {
    if (stream.capture == nullptr) return Status::ok();  // of a capture that is over
    return fail_capture(
        *stream.capture,
        Status::error(StatusCode::kCaptureIsolation,
                      "event wait: dependency on uncaptured work: a capturing stream "
                      "cannot wait for an event that was recorded outside its capture"));
  }
  if (stream.capture == nullptr) {
    if (stream.id.load(std::memory_order_relaxed) == kDefaultStream) {
      return fail_capture(*record.graph,
                          Status::error(StatusCode::kCaptureImplicit,
                                        "event wait: the default stream cannot join a capture"));
    }
    join_capture(stream, record.graph);
  }
  if (stream.capture == record.graph) {
    capture_wait(stream, record.captured_after);
    return Status::ok();
  }
  return fail_capture(
      *stream.capture,
      Status::error(StatusCode::kCaptureMerge,
                    "event wait: the event belongs to another capture; waiting would "
                    "merge separate captures"));
}

// Asking for the state of an event that was recorded in a capture.
Status refuse_captured(const Record& record, const char* call) {
  return fail_capture(
      *record.graph,
      Status::error(
          StatusCode::kCapturedEvent,
          std::string(call) +
              ": operation not permitted on an event last recorded in a capturing stream"));
}

}  // namespace

Event::Event(int device, bool timing) : state_(std::make_shared<State>()) {
  state_->device = device;
  state_->timing = timing;
}

int Event::device() const { return state_->device; }

Status Event::record(StreamRef ref) {
  Card* card = nullptr;
  StreamState* stream = nullptr;
  if (Status found = find_stream(ref, &card, &stream); !found.is_ok()) return found;
  if (ref.device != state_->device) {
    return Status::error(StatusCode::kInvalidArgument,
                         "event of card " + std::to_string(state_->device) +
                             " cannot be recorded on a stream of card " +
                             std::to_string(ref.device));
  }
  auto record = std::make_shared<Record>();
  record->stream = stream;
  record->timing = state_->timing;
  Aftermath after;
  {
    std::lock_guard lock(card->mutex);
    if (stream->capture != nullptr) {
      record->graph = stream->capture;
      record->captured_after = capture_position(*stream);
    } else if ((stream->word.load(std::memory_order_relaxed) & StreamState::kPendingMask) == 0) {
      record->position = stream->enqueued;
      record->error = stream->error_at(stream->enqueued + 1);
      if (record->timing) record->time_ns = now_ns();
      record->done.store(true, std::memory_order_release);
    } else {
      Item item;
      item.kind = Item::Kind::kRecord;
      item.record = record;
      append_item(*stream, std::move(item), after);
    }
  }
  if (!after.empty()) deliver(*card, after);
  std::lock_guard lock(state_->mutex);
  state_->last = std::move(record);
  return Status::ok();
}

Status Event::wait(StreamRef ref) const {
  Card* card = nullptr;
  StreamState* stream = nullptr;
  if (Status found = find_stream(ref, &card, &stream); !found.is_ok()) return found;
  const std::shared_ptr<Record> record = state_->captured();
  if (record == nullptr) return Status::ok();
  const bool done = record->done.load(std::memory_order_acquire);
  if (done && record->error == nullptr &&
      (stream->word.load(std::memory_order_acquire) & StreamState::kCapturing) == 0) {
    return Status::ok();
  }
  Aftermath after;
  {
    std::lock_guard lock(card->mutex);
    if (stream->capture != nullptr || record->graph != nullptr) {
      return wait_in_capture(*stream, *record);
    }
    Item item;
    item.kind = Item::Kind::kWait;
    item.record = record;
    append_item(*stream, std::move(item), after);
  }
  if (!after.empty()) deliver(*card, after);
  return Status::ok();
}

bool Event::query() const {
  const std::shared_ptr<Record> record = state_->captured();
  if (record == nullptr || record->done.load(std::memory_order_acquire)) return true;
  return record->graph != nullptr && !in_capture(*record);
}

Status Event::user_query(bool* done) const {
  const std::shared_ptr<Record> record = state_->captured();
  if (record != nullptr && in_capture(*record)) return refuse_captured(*record, "event query");
  if (Status refused = refuse_in_capture("event query"); !refused.is_ok()) return refused;
  *done = query();
  return Status::ok();
}

Status Event::synchronize() const {
  if (forked_after_use()) return forked_status();
  const std::shared_ptr<Record> record = state_->captured();
  if (record == nullptr) return Status::ok();
  if (record->graph != nullptr) {
    return in_capture(*record) ? refuse_captured(*record, "event synchronize") : Status::ok();
  }
  if (!record->done.load(std::memory_order_acquire)) {
    Status waited = wait_for_position(*record->stream, record->position);
    if (!waited.is_ok()) return waited;
  }
  if (record->error == nullptr) return Status::ok();
  StreamState& stream = *record->stream;
  std::lock_guard lock(stream.card->mutex);
  if (stream.error == record->error) (void)take_error(stream);  // raised here, not once more
  return *record->error;
}

Status Event::elapsed_ms(const Event& start, const Event& end, double* ms) {
  const std::shared_ptr<Record> first = start.state_->captured();
  const std::shared_ptr<Record> last = end.state_->captured();
  if (!start.state_->timing || !end.state_->timing) {
    return Status::error(StatusCode::kInvalidArgument,
                         "elapsed time: both events must be created with timing enabled");
  }
  if (first == nullptr || last == nullptr) {
    return Status::error(StatusCode::kInvalidArgument,
                         "elapsed time: both events must be recorded first");
  }
  if (first->graph != nullptr || last->graph != nullptr) {
    return Status::error(StatusCode::kCapture,
                         "elapsed time: an event that was recorded in a capture has no time");
  }
  if (!first->done.load(std::memory_order_acquire) || !last->done.load(std::memory_order_acquire)) {
    return Status::error(StatusCode::kInvalidArgument,
                         "elapsed time: device not ready, synchronize both events first");
  }
  *ms = static_cast<double>(last->time_ns - first->time_ns) / 1e6;
  return Status::ok();
}

}  // namespace spyre::device
