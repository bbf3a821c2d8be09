#include "fork_guard.h"

#include <pthread.h>

#include <atomic>
#include <mutex>

#include "stream.h"

namespace spyre::device {
namespace {

std::atomic<bool> used{false};
std::atomic<bool> bad_fork{false};
std::once_flag handler_once;

void in_child() {
  if (used.load(std::memory_order_relaxed)) bad_fork.store(true, std::memory_order_relaxed);
}

}  // namespace

void mark_device_used() {
  if (used.load(std::memory_order_relaxed)) return;
  std::call_once(handler_once, [] { pthread_atfork(nullptr, nullptr, in_child); });
  used.store(true, std::memory_order_relaxed);
}

bool forked_after_use() { return bad_fork.load(std::memory_order_relaxed); }

bool in_bad_fork() { return forked_after_use(); }

Status forked_status() {
  return Status::error(StatusCode::kForked,
                       "Cannot re-initialize Spyre in forked subprocess. To use Spyre with "
                       "multiprocessing, you must use the 'spawn' start method");
}

}  // namespace spyre::device
