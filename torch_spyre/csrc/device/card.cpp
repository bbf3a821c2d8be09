#include "card.h"

#include <string>

#include "fork_guard.h"
#include "properties.h"

namespace spyre::device {
namespace {

constexpr int kPoolStreams = kPriorityLevels * kStreamsPerPriority;

std::vector<Card*> make_cards() {
  mark_device_used();
  std::vector<Card*> cards;
  for (int device = 0; device < device_count(); ++device) cards.push_back(new Card(device));
  return cards;
}

// Leaked on purpose: engine threads and late destructors of tensors use cards until the very end
// of the process, after static destructors.
const std::vector<Card*>& cards() {
  static const auto* const instance = new std::vector<Card*>(make_cards());
  return *instance;
}

}  // namespace

Card::Card(int index) : device(index) {
  std::lock_guard lock(mutex);
  add_stream(kLowestPriority);  // kDefaultStream; then the pool, see stream_from_pool()
  for (int stream = 0; stream < kPoolStreams; ++stream) {
    add_stream(kLowestPriority - stream / kStreamsPerPriority);
  }
}

StreamId Card::add_stream(int priority) {
  int slot = slot_count;
  if (!free_slots.empty()) {
    slot = free_slots.back();
    free_slots.pop_back();
  } else if (slot_count == kStreamSlots) {
    return -1;
  } else {
    ++slot_count;
  }
  StreamState* state = slots[slot].load(std::memory_order_relaxed);
  const bool fresh = state == nullptr;
  if (fresh) state = new StreamState(this);
  state->priority = priority;
  const StreamId id = fresh ? slot : state->id.load(std::memory_order_relaxed) + kStreamSlots;
  state->id.store(id, std::memory_order_relaxed);
  state->word.fetch_and(~StreamState::kDestroyed, std::memory_order_release);
  if (fresh) slots[slot].store(state, std::memory_order_release);
  return id;
}

int card_count() { return static_cast<int>(cards().size()); }

Card* find_card(int device) {
  const std::vector<Card*>& all = cards();
  return device >= 0 && device < static_cast<int>(all.size()) ? all[device] : nullptr;
}

Status find_stream(StreamRef stream, Card** card, StreamState** out) {
  if (forked_after_use()) return forked_status();
  *card = find_card(stream.device);
  if (*card == nullptr) {
    return Status::error(StatusCode::kInvalidDevice,
                         "invalid device ordinal " + std::to_string(stream.device) +
                             ": there are " + std::to_string(card_count()) + " Spyre cards");
  }
  *out = (*card)->find(stream.id);
  if (*out == nullptr ||
      ((*out)->word.load(std::memory_order_relaxed) & StreamState::kDestroyed) != 0) {
    return Status::error(StatusCode::kInvalidArgument,
                         "card " + std::to_string(stream.device) + " has no stream " +
                             std::to_string(stream.id) + ": it was destroyed or never made");
  }
  return Status::ok();
}

}  // namespace spyre::device
