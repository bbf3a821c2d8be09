#include "blocking_wait.h"

#include <atomic>

#include "stream.h"

namespace spyre::device {
namespace {

std::atomic<void* (*)()> before_hook{nullptr};
std::atomic<void (*)(void*)> after_hook{nullptr};

}  // namespace

void set_wait_hooks(void* (*before)(), void (*after)(void*)) {
  before_hook.store(before, std::memory_order_release);
  after_hook.store(after, std::memory_order_release);
}

void BlockingWait::begin() {
  if (begun_) return;
  begun_ = true;
  after_ = after_hook.load(std::memory_order_acquire);
  if (auto before = before_hook.load(std::memory_order_acquire)) token_ = before();
}

void BlockingWait::end() {
  if (!begun_) return;
  begun_ = false;
  if (after_ != nullptr) after_(token_);
}

}  // namespace spyre::device
