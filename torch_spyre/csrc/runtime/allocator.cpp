#include "runtime/allocator.h"

#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>

#include <cstring>
#include <limits>
#include <mutex>
#include <vector>

#include "device/properties.h"
#include "runtime/current.h"
#include "runtime/exception.h"
#include "runtime/pluggable_allocator.h"

namespace spyre::runtime {

namespace {

using c10::CachingDeviceAllocator::DeviceStats;

c10::Device device_at(int index) {
  return {c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(index)};
}

std::vector<OutOfMemoryObserver>& observers() {
  static auto* list = new std::vector<OutOfMemoryObserver>();  // leaked: used until the last free
  return *list;
}
std::mutex g_observers_mutex;

void report_change(int device, void* address, std::int64_t nbytes) {
  if (!c10::memoryProfilingEnabled()) {
    return;
  }
  const device::AllocatorStats stats = device::CachingAllocator::of(device).stats();
  const int all = static_cast<int>(device::StatKind::kAll);
  c10::reportMemoryUsageToProfiler(address, nbytes, stats.allocated_bytes[all].current,
                                   stats.reserved_bytes[all].current, device_at(device));
}

void report_out_of_memory(int device, std::size_t nbytes) {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  auto& allocator = device::CachingAllocator::of(device);
  allocator.memory_info(&free_bytes, &total_bytes);
  const device::AllocatorStats stats = allocator.stats();
  const int all = static_cast<int>(device::StatKind::kAll);
  c10::reportOutOfMemoryToProfiler(static_cast<std::int64_t>(nbytes),
                                   stats.allocated_bytes[all].current,
                                   stats.reserved_bytes[all].current, device_at(device));
  std::vector<OutOfMemoryObserver> called;
  {
    std::lock_guard lock(g_observers_mutex);
    called = observers();
  }
  for (const auto& observer : called) {
    observer(device, static_cast<std::int64_t>(nbytes), static_cast<std::int64_t>(total_bytes),
             static_cast<std::int64_t>(free_bytes));
  }
}

void free_block(void* address) {
  if (address == nullptr || in_bad_fork() || free_if_pluggable(address)) {
    return;  // the child of a fork does not own the parent's pool
  }
  const int device = device::device_of_address(address);
  if (c10::memoryProfilingEnabled()) {
    void* base = nullptr;
    std::size_t size_bytes = 0;
    if (device::CachingAllocator::of(device).find_block(address, &base, &size_bytes)) {
      report_change(device, address, -static_cast<std::int64_t>(size_bytes));
    }
  }
  device::CachingAllocator::of(device).free(address);
}

void copy_stat(const device::StatValue& from, c10::CachingAllocator::Stat* to) {
  to->current = from.current;
  to->peak = from.peak;
  to->allocated = from.allocated;
  to->freed = from.freed;
}

void copy_stats(const device::StatValue (&from)[3], c10::CachingAllocator::StatArray* to) {
  for (std::size_t kind = 0; kind < to->size(); ++kind) {
    copy_stat(from[kind], &(*to)[kind]);
  }
}

class Allocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t nbytes) override {
    return allocate_on(nbytes, current_stream());
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
  void copy_data(void* dest, const void* src, std::size_t count) const override {
    std::memcpy(dest, src, count);
  }

  bool initialized() override { return is_initialized(); }

  void emptyCache(c10::MempoolId_t mempool_id) override {
    for (int device = 0; device < device::device_count(); ++device) {
      check(device::CachingAllocator::of(device).empty_cache(mempool_id));
    }
  }

  void recordStream(const c10::DataPtr& ptr, c10::Stream stream) override {
    record_stream(ptr, from_c10(stream));
  }

  DeviceStats getDeviceStats(c10::DeviceIndex index) override {
    check_device_index(index);
    const device::AllocatorStats from = device::CachingAllocator::of(index).stats();
    DeviceStats to;
    copy_stats(from.allocation, &to.allocation);
    copy_stats(from.segment, &to.segment);
    copy_stats(from.active, &to.active);
    copy_stats(from.inactive_split, &to.inactive_split);
    copy_stats(from.allocated_bytes, &to.allocated_bytes);
    copy_stats(from.reserved_bytes, &to.reserved_bytes);
    copy_stats(from.active_bytes, &to.active_bytes);
    copy_stats(from.inactive_split_bytes, &to.inactive_split_bytes);
    copy_stats(from.requested_bytes, &to.requested_bytes);
    copy_stat(from.oversize_allocations, &to.oversize_allocations);
    copy_stat(from.oversize_segments, &to.oversize_segments);
    to.num_alloc_retries = from.num_alloc_retries;
    to.num_ooms = from.num_ooms;
    to.num_sync_all_streams = from.num_sync_all_streams;
    to.num_device_alloc = from.num_device_alloc;
    to.num_device_free = from.num_device_free;
    to.max_split_size = from.max_split_size;
    return to;
  }

  void resetAccumulatedStats(c10::DeviceIndex index) override {
    check_device_index(index);
    device::CachingAllocator::of(index).reset_accumulated_stats();
  }
  void resetPeakStats(c10::DeviceIndex index) override {
    check_device_index(index);
    device::CachingAllocator::of(index).reset_peak_stats();
  }
  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex index) override {
    check_device_index(index);
    std::pair<std::size_t, std::size_t> info;  // free, total
    device::CachingAllocator::of(index).memory_info(&info.first, &info.second);
    return info;
  }
};

}  // namespace

c10::DeviceAllocator* device_allocator() {
  static auto* allocator = new Allocator();  // leaked: tensors may outlive static destructors
  return allocator;
}

c10::DataPtr allocate_on(std::size_t nbytes, device::StreamRef stream) {
  initialize();
  TORCH_CHECK(nbytes <= static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()),
              "Spyre cannot allocate ", nbytes, " bytes: the size is negative or too large");
  if (uses_pluggable(stream.device)) [[unlikely]] {
    return allocate_pluggable(nbytes, stream);
  }
  void* address = nullptr;
  const device::Status status =
      device::CachingAllocator::of(stream.device).allocate(nbytes, stream.id, &address);
  if (!status.is_ok()) [[unlikely]] {
    if (status.code == device::StatusCode::kOutOfMemory) {
      report_out_of_memory(stream.device, nbytes);
    }
    throw_status(status);
  }
  if (address != nullptr) {
    report_change(stream.device, address, static_cast<std::int64_t>(nbytes));
  }
  return {address, address, &free_block, device_at(stream.device)};
}

void record_stream(const c10::DataPtr& data, device::StreamRef stream) {
  void* address = data.get();
  const int device = device::device_of_address(address);
  if (device >= 0) {
    device::CachingAllocator::of(device).record_stream(address, stream);
  }
}

void attach_out_of_memory_observer(OutOfMemoryObserver observer) {
  std::lock_guard lock(g_observers_mutex);
  observers().push_back(std::move(observer));
}

void register_allocator() {
  c10::SetAllocator(c10::DeviceType::PrivateUse1, device_allocator(), /*priority=*/200);
}

}  // namespace spyre::runtime
