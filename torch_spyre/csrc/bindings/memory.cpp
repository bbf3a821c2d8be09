// The caching allocator beyond what torch.accelerator offers, and pinned memory.
#include <c10/core/CachingDeviceAllocator.h>
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <mutex>
#include <thread>

#include "bindings/bindings.h"
#include "device/allocator.h"
#include "device/graph.h"
#include "device/pinned.h"
#include "device/properties.h"
#include "runtime/allocator.h"
#include "runtime/current.h"
#include "runtime/exception.h"
#include "runtime/pluggable_allocator.h"
#include "runtime/stream.h"

namespace py = pybind11;

namespace spyre::bindings {

namespace {

device::CachingAllocator& allocator_of(int index) {
  runtime::check_device_index(index);
  return device::CachingAllocator::of(index);
}

// Python's callable lives as long as the process; the GIL may not be held by the caller.
void attach_observer(py::function observer) {
  auto* kept = new py::function(std::move(observer));
  runtime::attach_out_of_memory_observer(
      [kept](int index, std::int64_t asked, std::int64_t total, std::int64_t free_bytes) {
        py::gil_scoped_acquire gil;
        (*kept)(index, asked, total, free_bytes);
      });
}

std::mutex g_uses_mutex;
std::map<device::MempoolId, int> g_active_uses;

void count_use(device::MempoolId pool, int amount) {
  std::lock_guard lock(g_uses_mutex);
  if ((g_active_uses[pool] += amount) == 0) {
    g_active_uses.erase(pool);
  }
}

// This thread's allocations, on any stream, go to the pool until end_allocate_to_pool.
void begin_allocate_to_pool(int index, device::MempoolId pool) {
  allocator_of(index).begin_allocate_to_pool(
      pool, [owner = std::this_thread::get_id()](device::StreamId) {
        return std::this_thread::get_id() == owner;
      });
  count_use(pool, 1);
}

void end_allocate_to_pool(int index, device::MempoolId pool) {
  allocator_of(index).end_allocate_to_pool(pool);
  count_use(pool, -1);
}

int active_pool_uses(device::MempoolId pool) {
  std::lock_guard lock(g_uses_mutex);
  const auto found = g_active_uses.find(pool);
  return found == g_active_uses.end() ? 0 : found->second;
}

std::uintptr_t raw_alloc(std::size_t nbytes, int index, device::StreamId stream) {
  runtime::check_device_index(index);
  return reinterpret_cast<std::uintptr_t>(
      runtime::allocate_on(nbytes, {index, stream}).release_context());
}

runtime::PluggableFunctions functions_at(std::uintptr_t alloc, std::uintptr_t free) {
  return {reinterpret_cast<runtime::PluggableAlloc>(alloc),
          reinterpret_cast<runtime::PluggableFree>(free)};
}

void raw_delete(std::uintptr_t address) {
  runtime::device_allocator()->raw_deleter()(reinterpret_cast<void*>(address));
}

}  // namespace

bool bind_memory(PyObject* object) {
  auto module = py::reinterpret_borrow<py::module_>(object);
  module.def("empty_cache",
             [](device::MempoolId pool) { runtime::device_allocator()->emptyCache(pool); });
  module.def("set_memory_fraction", [](double fraction, int index) {
    runtime::check(allocator_of(index).set_memory_fraction(fraction));
  });
  module.def("memory_fraction", [](int index) { return allocator_of(index).memory_fraction(); });
  module.def("new_mempool_id", &device::new_mempool_id);
  module.def("begin_allocate_to_pool", &begin_allocate_to_pool);
  module.def("end_allocate_to_pool", &end_allocate_to_pool);
  module.def("release_pool",
             [](int index, device::MempoolId pool) { allocator_of(index).release_pool(pool); });
  module.def("active_pool_uses", &active_pool_uses);
  module.def("raw_alloc", &raw_alloc);
  module.def("raw_delete", &raw_delete);
  module.def("set_pluggable_allocator", [](std::uintptr_t alloc, std::uintptr_t free) {
    runtime::set_pluggable_allocator(functions_at(alloc, free));
  });
  module.def("begin_pluggable_pool",
             [](int index, device::MempoolId pool, std::uintptr_t alloc, std::uintptr_t free) {
               runtime::begin_pluggable_pool(index, pool, functions_at(alloc, free));
               count_use(pool, 1);
             });
  module.def("end_pluggable_pool", [](device::MempoolId pool) {
    runtime::end_pluggable_pool();
    count_use(pool, -1);
  });
  module.def("set_pool_options",
             [](int index, device::MempoolId pool, bool no_split, bool use_on_oom) {
               allocator_of(index).set_pool_options(pool, no_split, use_on_oom);
             });
  module.def("set_caching", [](bool on) {
    for (int index = 0; index < device::device_count(); ++index) {
      allocator_of(index).set_caching(on);
    }
  });
  module.def("has_pluggable_allocator", &runtime::has_pluggable_allocator);
  module.def("device_of_address", [](std::uintptr_t address) {
    return device::device_of_address(reinterpret_cast<void*>(address));
  });
  module.def("attach_out_of_memory_observer", &attach_observer);
  module.def("pinned_empty_cache", &device::pinned_empty_cache);
  return true;
}

}  // namespace spyre::bindings
