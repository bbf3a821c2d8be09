#include "runtime/pluggable_allocator.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "device/work.h"
#include "runtime/current.h"
#include "runtime/exception.h"

namespace spyre::runtime {

namespace {

struct Allocation {
  std::size_t nbytes = 0;
  device::StreamRef stream;
  PluggableFree free = nullptr;
  bool counted = false;  // by the card's statistics
};

struct PoolRoute {
  int card = 0;
  device::MempoolId pool;
  PluggableFunctions functions;
};

std::atomic<bool> g_any{false};  // some functions were ever given
PluggableFunctions g_functions;  // of the whole process; set before first use
thread_local std::vector<PoolRoute> t_routes;
std::mutex g_mutex;

// The context of a DataPtr is its address (raw_allocate asks for that), so sizes are kept here.
std::unordered_map<void*, Allocation>& allocations() {
  static auto* map = new std::unordered_map<void*, Allocation>();  // leaked: used until the end
  return *map;
}

void* handle_of(device::StreamRef stream) {
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(stream.id));
}

const PoolRoute* route_for(int card) {
  const auto found = std::find_if(t_routes.rbegin(), t_routes.rend(),
                                  [card](const PoolRoute& route) { return route.card == card; });
  return found == t_routes.rend() ? nullptr : &*found;
}

void free_pluggable(void* address) { free_if_pluggable(address); }

}  // namespace

void set_pluggable_allocator(PluggableFunctions functions) {
  TORCH_CHECK(!is_initialized(),
              "Can't swap an already initialized allocator: call "
              "change_current_allocator() before the first use of the device");
  g_functions = functions;
  g_any.store(true, std::memory_order_release);
}

bool has_pluggable_allocator() {
  return g_any.load(std::memory_order_acquire) && g_functions.alloc != nullptr;
}

void begin_pluggable_pool(int card, device::MempoolId pool, PluggableFunctions functions) {
  initialize();
  check_device_index(card);
  t_routes.push_back({card, pool, functions});
  g_any.store(true, std::memory_order_release);
}

void end_pluggable_pool() {
  TORCH_CHECK(!t_routes.empty(), "no pool is in use on this thread");
  t_routes.pop_back();
}

bool uses_pluggable(int card) {
  if (!g_any.load(std::memory_order_relaxed)) [[likely]] {
    return false;
  }
  return has_pluggable_allocator() || route_for(card) != nullptr;
}

c10::DataPtr allocate_pluggable(std::size_t nbytes, device::StreamRef stream) {
  const c10::Device device(c10::DeviceType::PrivateUse1,
                           static_cast<c10::DeviceIndex>(stream.device));
  if (nbytes == 0) {
    return {nullptr, nullptr, &free_pluggable, device};
  }
  const PoolRoute* route = route_for(stream.device);
  const PluggableFunctions& functions = route != nullptr ? route->functions : g_functions;
  void* address = functions.alloc(nbytes, stream.device, handle_of(stream));
  TORCH_CHECK_WITH(OutOfMemoryError, address != nullptr,
                   "Spyre out of memory. The pluggable allocator gave no memory for ", nbytes,
                   " bytes on ", device, ".");
  if (route != nullptr) {
    device::CachingAllocator::of(stream.device).add_external(address, nbytes, route->pool);
  }
  std::lock_guard lock(g_mutex);
  allocations()[address] = {nbytes, stream, functions.free, route != nullptr};
  return {address, address, &free_pluggable, device};
}

bool free_if_pluggable(void* address) {
  if (!g_any.load(std::memory_order_relaxed)) {
    return false;
  }
  Allocation allocation;
  {
    std::lock_guard lock(g_mutex);
    auto found = allocations().find(address);
    if (found == allocations().end()) {
      return false;
    }
    allocation = found->second;
    allocations().erase(found);
  }
  if (allocation.counted) {
    device::CachingAllocator::of(allocation.stream.device).remove_external(address);
  }
  // Queued work may still use the memory: it goes back in stream order, as in the caching
  // allocator.
  const auto give_back = [address, allocation] {
    allocation.free(address, allocation.nbytes, allocation.stream.device,
                    handle_of(allocation.stream));
  };
  if (!device::is_idle(allocation.stream) &&
      device::enqueue(allocation.stream, device::Engine::kCompute,
                      device::make_work("pluggable_free", give_back))
          .is_ok()) {
    return true;
  }
  give_back();
  return true;
}

}  // namespace spyre::runtime
