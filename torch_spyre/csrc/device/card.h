// One emulated card: its streams and the lists from which its two engines take work. Internal.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "activity.h"
#include "spin.h"
#include "stream_state.h"

namespace spyre::device {

inline constexpr int kPriorityLevels = kLowestPriority - kHighestPriority + 1;
inline constexpr int kStreamsPerPriority = 32;
inline constexpr int kStreamSlots = 1 << 14;  // live streams of a card; ids are slot + 2^14 * reuse
inline constexpr int kEngineCount = 2;

// Streams whose head one engine may run now. Guarded by the card's mutex, except for the atomics.
struct EngineQueue {
  std::array<std::deque<StreamState*>, kPriorityLevels> ready;  // [0] is the highest priority
  std::atomic<int> ready_count{0};                              // read by the engine while it spins
  std::atomic<std::uint32_t> signal{0};                         // futex word of the engine
  std::atomic<bool> sleeping{false};                            // written under the mutex
  Spinner idle_spin;
  std::atomic<bool> started{false};
  std::atomic<std::int64_t> busy_ns{0};        // in all finished work
  std::atomic<std::int64_t> busy_since_ns{0};  // start of the work that runs now; 0: none

  std::int64_t busy_until_now_ns() const {
    const std::int64_t since_ns = busy_since_ns.load(std::memory_order_relaxed);
    return busy_ns.load(std::memory_order_relaxed) + (since_ns == 0 ? 0 : now_ns() - since_ns);
  }
};

struct Card {
  explicit Card(int index);

  const int device;
  std::mutex mutex;
  std::array<EngineQueue, kEngineCount> engines;

  std::atomic<std::uint32_t> queued{0};    // items queued or running, all streams
  std::atomic<std::uint32_t> errors{0};    // streams with kHasError
  std::atomic<std::uint32_t> captures{0};  // streams with kCapturing
  Spinner wait_spin;                       // of host threads that synchronize
  std::atomic<std::int64_t> last_small_launch_ns{0};
  std::uint32_t room_waiters = 0;      // threads blocked on a full queue
  std::atomic<std::uint32_t> room{0};  // their futex word

  std::array<std::atomic<StreamState*>, kStreamSlots> slots{};
  int slot_count = 0;  // slots ever used
  std::vector<int> free_slots;
  std::array<std::uint32_t, kPriorityLevels> next_pool_stream{};

  // Null when the id was never given out or its stream was destroyed.
  StreamState* find(StreamId id) {
    if (id < 0) return nullptr;
    StreamState* state = slots[id & (kStreamSlots - 1)].load(std::memory_order_acquire);
    return state != nullptr && state->id.load(std::memory_order_relaxed) == id ? state : nullptr;
  }
  // Needs the mutex. -1 when every slot is in use.
  StreamId add_stream(int priority);
};

// Null for an ordinal that does not exist. Cards live until the process ends.
Card* find_card(int device);
int card_count();

// Sets *out, or says why there is no such stream (fork, ordinal, id).
Status find_stream(StreamRef stream, Card** card, StreamState** out);

}  // namespace spyre::device
