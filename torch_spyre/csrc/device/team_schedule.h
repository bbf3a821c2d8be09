// Which thread of a team runs which virtual cores, step after step. Internal to layer 0.
//
// Note [Claimed cores]: each thread owns a contiguous range of a step's cores, the same in every
// step, so that neighbouring steps meet warm caches. It claims them in a few pieces and then helps
// the others, since a host core may be taken away at any time. A step that depends on earlier ones
// waits for their cores to be finished, not for all threads to arrive: a thread that is off its
// core and has claimed nothing holds up nobody.
#pragma once
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "futex.h"

namespace spyre::device {

class TeamSchedule {
 public:
  // Before the run. `threads` is the most that may take part.
  void reset(int threads) {
    if (ranges_.size() < static_cast<std::size_t>(threads)) {
      ranges_ = std::vector<Range>(static_cast<std::size_t>(threads));
    }
    for (Range& range : ranges_) range.word.store(0, std::memory_order_relaxed);
    finished_.store(0, std::memory_order_relaxed);
  }

  // Takes a piece [*first, *last) of the cores that `owner` of `threads` has in `step`; false when
  // all are taken. Any thread may take from any owner. A thread that goes on to a later step must
  // have seen false for every owner: that is why an older step's word may be overwritten.
  bool claim(int step, int cores, int owner, int threads, int* first, int* last) {
    const int begin = owner * cores / threads;
    const int end = (owner + 1) * cores / threads;
    const int piece = (end - begin + kPieces - 1) / kPieces;
    std::atomic<std::uint64_t>& word = ranges_[static_cast<std::size_t>(owner)].word;
    const auto tag = static_cast<std::uint64_t>(step) + 1;  // 0: nothing was claimed yet
    std::uint64_t seen = word.load(std::memory_order_relaxed);
    for (;;) {
      if (seen >> 32 > tag) return false;
      *first = seen >> 32 == tag ? static_cast<int>(seen & 0xffff'ffff) : begin;
      if (*first >= end) return false;
      *last = std::min(*first + piece, end);
      const std::uint64_t taken = tag << 32 | static_cast<std::uint64_t>(*last);
      if (word.compare_exchange_weak(seen, taken, std::memory_order_relaxed)) return true;
    }
  }

  void finish(int cores) {
    finished_.fetch_add(static_cast<std::uint64_t>(cores), std::memory_order_acq_rel);
  }

  // Of all steps so far.
  std::uint64_t finished() const { return finished_.load(std::memory_order_acquire); }

  // Until so many cores, counted over all steps, are finished.
  void wait_finished(std::uint64_t cores) const {
    for (int spins = 0; finished() < cores; ++spins) {
      if (spins < kSpins) {
        cpu_relax();
      } else {
        sched_yield();
      }
    }
  }

  // The same for a thread that may leave: false when `leave()` or after a short spin in vain.
  template <class F>
  bool wait_finished(std::uint64_t cores, F leave) const {
    for (int spins = 0; finished() < cores; ++spins) {
      if (spins == kSpins || leave()) return false;
      cpu_relax();
    }
    return true;
  }

 private:
  static constexpr int kPieces = 16;
  static constexpr int kSpins = 2000;
  struct alignas(64) Range {
    std::atomic<std::uint64_t> word{0};  // (step + 1) << 32 | next core
  };
  std::vector<Range> ranges_;
  alignas(64) std::atomic<std::uint64_t> finished_{0};
};

}  // namespace spyre::device
