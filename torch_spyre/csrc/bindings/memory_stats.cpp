// Statistics of device and pinned memory as nested dicts with CUDA's keys.
#include <pybind11/pybind11.h>

#include "bindings/bindings.h"
#include "device/allocator.h"
#include "device/pinned.h"
#include "runtime/exception.h"
#include "runtime/host_allocator.h"

namespace py = pybind11;

namespace spyre::bindings {

namespace {

py::dict stat_dict(const device::StatValue& from) {
  py::dict to;
  to["current"] = from.current;
  to["peak"] = from.peak;
  to["allocated"] = from.allocated;
  to["freed"] = from.freed;
  return to;
}

py::dict pool_dict(const device::StatValue (&from)[3]) {
  py::dict to;
  to["all"] = stat_dict(from[static_cast<int>(device::StatKind::kAll)]);
  to["small_pool"] = stat_dict(from[static_cast<int>(device::StatKind::kSmallPool)]);
  to["large_pool"] = stat_dict(from[static_cast<int>(device::StatKind::kLargePool)]);
  return to;
}

device::CachingAllocator& allocator_of(int index) {
  runtime::check_device_index(index);
  return device::CachingAllocator::of(index);
}

py::dict memory_stats(int index) {
  const device::AllocatorStats from = allocator_of(index).stats();
  py::dict to;
  to["num_alloc_retries"] = from.num_alloc_retries;
  to["num_ooms"] = from.num_ooms;
  to["num_sync_all_streams"] = from.num_sync_all_streams;
  to["num_device_alloc"] = from.num_device_alloc;
  to["num_device_free"] = from.num_device_free;
  to["max_split_size"] = from.max_split_size;
  to["allocation"] = pool_dict(from.allocation);
  to["segment"] = pool_dict(from.segment);
  to["active"] = pool_dict(from.active);
  to["inactive_split"] = pool_dict(from.inactive_split);
  to["allocated_bytes"] = pool_dict(from.allocated_bytes);
  to["reserved_bytes"] = pool_dict(from.reserved_bytes);
  to["active_bytes"] = pool_dict(from.active_bytes);
  to["inactive_split_bytes"] = pool_dict(from.inactive_split_bytes);
  to["requested_bytes"] = pool_dict(from.requested_bytes);
  to["oversize_allocations"] = stat_dict(from.oversize_allocations);
  to["oversize_segments"] = stat_dict(from.oversize_segments);
  return to;
}

py::dict host_memory_stats() {
  const device::PinnedStats from = device::pinned_stats();
  const std::int64_t requests = from.allocations_total - runtime::pinned_requests_base();
  py::dict to;
  to["num_host_alloc"] = from.segments_current;
  to["active_requests"] = stat_dict({from.allocations_current, from.allocations_current, requests,
                                     requests - from.allocations_current});
  to["active_bytes"] = stat_dict({from.allocated_bytes_current, from.allocated_bytes_peak, 0, 0});
  to["segment"] = stat_dict({from.segments_current, from.segments_current, 0, 0});
  to["allocated_bytes"] = stat_dict({from.reserved_bytes_current, from.reserved_bytes_peak, 0, 0});
  return to;
}

}  // namespace

bool bind_memory_stats(PyObject* object) {
  auto module = py::reinterpret_borrow<py::module_>(object);
  module.def("memory_stats", &memory_stats);
  module.def("host_memory_stats", &host_memory_stats);
  module.def("reset_accumulated_host_memory_stats", &runtime::reset_pinned_requests);
  module.def("pinned_reset_peak_stats", &device::pinned_reset_peak_stats);
  module.def("reset_peak_memory_stats", [](int index) { allocator_of(index).reset_peak_stats(); });
  module.def("reset_accumulated_memory_stats",
             [](int index) { allocator_of(index).reset_accumulated_stats(); });
  module.def("memory_info", [](int index) {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    allocator_of(index).memory_info(&free_bytes, &total_bytes);
    return py::make_tuple(free_bytes, total_bytes);
  });
  return true;
}

}  // namespace spyre::bindings
