// A barrier for one parallel region: a short spin, then yields, since a team thread may be off
// core.
#pragma once
#include <sched.h>

#include <atomic>
#include <cstdint>

#include "futex.h"

namespace spyre::device {

class TeamBarrier {
 public:
  // `round` is the caller's own count of barriers passed; all `threads` pass the same ones.
  void arrive_and_wait(std::uint32_t& round, int threads) {
    ++round;
    const std::uint32_t last = static_cast<std::uint32_t>(threads) * round;
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == last) {
      released_.store(round, std::memory_order_release);
      return;
    }
    for (int spins = 0; released_.load(std::memory_order_acquire) < round; ++spins) {
      if (spins < kSpins) {
        cpu_relax();
      } else {
        sched_yield();
      }
    }
  }

 private:
  static constexpr int kSpins = 2000;
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> released_{0};
};

}  // namespace spyre::device
