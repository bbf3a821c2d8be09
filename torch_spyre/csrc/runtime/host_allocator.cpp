#include "runtime/host_allocator.h"

// The header aligns by hardware_destructive_interference_size, which GCC warns about.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winterference-size"
#include <ATen/core/CachingHostAllocator.h>
#pragma GCC diagnostic pop

#include <atomic>
#include <cstring>

#include "device/pinned.h"
#include "runtime/current.h"
#include "runtime/exception.h"

namespace spyre::runtime {

namespace {

std::atomic<std::int64_t> g_requests_base{0};

void free_pinned(void* address) {
  if (address != nullptr && !in_bad_fork()) {
    device::pinned_free(address);
  }
}

class PinnedAllocator final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(std::size_t nbytes) override {
    if (nbytes == 0) {
      return {nullptr, nullptr, &free_pinned, c10::Device(c10::DeviceType::CPU)};
    }
    initialize();
    void* address = nullptr;
    check(device::pinned_allocate(nbytes, &address));
    return {address, address, &free_pinned, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
  void copy_data(void* dest, const void* src, std::size_t count) const override {
    std::memcpy(dest, src, count);
  }

  bool record_event(void* ptr, void* /*ctx*/, c10::Stream stream) override {
    if (!device::is_pinned(ptr)) {
      return false;
    }
    device::pinned_record_stream(ptr, from_c10(stream));
    return true;
  }
  void empty_cache() override { device::pinned_empty_cache(); }

  at::HostStats get_stats() override {
    const device::PinnedStats from = device::pinned_stats();
    at::HostStats to;
    to.active_requests.current = from.allocations_current;
    to.active_requests.allocated = from.allocations_total - g_requests_base;
    to.active_requests.freed = to.active_requests.allocated - from.allocations_current;
    to.active_bytes.current = from.allocated_bytes_current;
    to.active_bytes.peak = from.allocated_bytes_peak;
    to.allocations.current = from.segments_current;
    to.allocated_bytes.current = from.reserved_bytes_current;
    to.allocated_bytes.peak = from.reserved_bytes_peak;
    return to;
  }
  void reset_accumulated_stats() override { reset_pinned_requests(); }
  void reset_peak_stats() override { device::pinned_reset_peak_stats(); }
};

PinnedAllocator* allocator() {
  static auto* instance = new PinnedAllocator();  // leaked: tensors may outlive destructors
  return instance;
}

}  // namespace

c10::Allocator* pinned_allocator() { return allocator(); }

std::int64_t pinned_requests_base() { return g_requests_base; }
void reset_pinned_requests() { g_requests_base = device::pinned_stats().allocations_total; }

void register_host_allocator() {
  at::setHostAllocator(c10::DeviceType::PrivateUse1, allocator(), /*priority=*/1);
}

}  // namespace spyre::runtime
