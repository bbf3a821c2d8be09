// Spinning before a sleep, for as long as it has paid off lately. Internal to layer 0.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#include "activity.h"
#include "futex.h"

namespace spyre::device {

// Waking a thread costs 5-90 us, so a spin of up to 50 us, the time between two calls from
// Python, pays when the other side has a core of its own. On a busy host it has not, and the spin
// only keeps it from running: a spin that was in vain halves the next one, every 32nd tries the
// full length, and one that was successful makes the next one full again.
class Spinner {
 public:
  static constexpr std::int32_t kLongestNs = 50'000;

  // True when `ready()` became true in time. Any thread; the budget is a hint, so races are
  // harmless.
  template <class F>
  bool spin(F ready) {
    static const bool one_core = std::thread::hardware_concurrency() <= 1;
    if (ready()) return true;
    if (one_core) return false;
    const std::int32_t budget = budget_ns_.load(std::memory_order_relaxed);
    const bool probe = (tries_.fetch_add(1, std::memory_order_relaxed) & 31) == 0;
    const std::int64_t deadline = now_ns() + (probe ? kLongestNs : budget);
    do {
      for (int i = 0; i < 16; ++i) {
        if (ready()) {
          budget_ns_.store(kLongestNs, std::memory_order_relaxed);
          return true;
        }
        cpu_relax();
      }
    } while (now_ns() < deadline);
    if (!probe) budget_ns_.store(std::max(budget / 2, kShortestNs), std::memory_order_relaxed);
    return false;
  }

 private:
  static constexpr std::int32_t kShortestNs = 1'000;
  std::atomic<std::int32_t> budget_ns_{kLongestNs};
  std::atomic<std::uint32_t> tries_{1};
};

}  // namespace spyre::device
