#include "host_gate.h"

#include <utility>

#include "graph_state.h"
#include "stream_queue.h"
#include "synchronize.h"

namespace spyre::device {

HostGate::HostGate() : record_(std::make_shared<Record>()) {}

Status HostGate::wait(StreamRef ref) const {
  Card* card = nullptr;
  StreamState* stream = nullptr;
  if (Status found = find_stream(ref, &card, &stream); !found.is_ok()) return found;
  if (record_->done.load(std::memory_order_acquire) && record_->error == nullptr) {
    return Status::ok();
  }
  Aftermath after;
  {
    std::lock_guard lock(card->mutex);
    if (stream->capture != nullptr) {
      return fail_capture(*stream->capture,
                          Status::error(StatusCode::kCaptureIsolation,
                                        "gate wait: a capturing stream cannot wait for the host"));
    }
    Item item;
    item.kind = Item::Kind::kWait;
    item.record = record_;
    append_item(*stream, std::move(item), after);
  }
  if (!after.empty()) deliver(*card, after);
  return Status::ok();
}

void HostGate::open(Status status) const {
  if (!complete_record(
          *record_, status.is_ok() ? nullptr : std::make_shared<const Status>(std::move(status)))) {
    return;
  }
  Aftermath after;
  after.completed.push_back(record_);
  deliver(*find_card(0), after);  // wakes no engine of this card by itself
}

}  // namespace spyre::device
