// Sleeping on a 32-bit word. Linux futex: std::atomic::wait spins and yields on its own terms.
#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

namespace spyre::device {

// Returns when `word` no longer holds `seen`, when woken, after timeout_ns (< 0: none), or for no
// reason: callers loop.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen,
                       std::int64_t timeout_ns = -1) {
  timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, seen,
          timeout_ns < 0 ? nullptr : &timeout, nullptr, 0);
}

inline void futex_wake(std::atomic<std::uint32_t>& word, int count = INT_MAX) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr,
          nullptr, 0);
}

inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace spyre::device
